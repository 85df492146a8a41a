import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../api-server/api.ts';

/**
 * Repeats a write, which must come to the same when it is done twice, until the API server takes it: while
 * it is away, starts up (and says 401, 403 or 500 until it has read its own data) or is too busy. Gives up
 * after 60 seconds.
 */
export async function persist(write: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isPassing(error) || performance.now() > deadline) throw error;
      await sleep(50);
    }
  }
}

function isPassing(error: unknown): boolean {
  if (!(error instanceof ApiError)) return true;
  return [401, 403, 409, 429].includes(error.status) || error.status >= 500;
}
