import { startParts } from '../src/util/start-parts.ts';

/**
 * Starts something that has several parts. What `start` defers is done, last first, when `stop` of the result is
 * called, or at once if it fails.
 */
export async function withCleanups<T extends object>(
  start: (cleanups: AsyncDisposableStack) => Promise<T>,
): Promise<T & { stop(): Promise<void> }> {
  const started = await startParts(start);
  return { ...started, stop: started.close };
}
