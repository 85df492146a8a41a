/**
 * Starts something that has several parts. What `start` defers is done, last first, when `stop` of the result is
 * called, or at once if it fails.
 */
export async function withCleanups<T extends object>(
  start: (cleanups: AsyncDisposableStack) => Promise<T>,
): Promise<T & { stop(): Promise<void> }> {
  const cleanups = new AsyncDisposableStack();
  try {
    return { ...(await start(cleanups)), stop: async () => await cleanups.disposeAsync() };
  } catch (error) {
    await cleanups.disposeAsync();
    throw error;
  }
}
