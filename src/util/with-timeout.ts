import { abortable } from './linked-abort-controller.ts';

/**
 * Waits for a promise; rejects if that takes longer than `ms` milliseconds. What the promise stands for is not ended.
 *
 * @param what what was waited for, for the message
 */
export async function withTimeout<T>(
  ms: number,
  promise: Promise<T>,
  what = 'the disk',
): Promise<T> {
  const timeout = new AbortController();
  const error = new Error(`${what} took more than ${ms / 1000} s`);
  const timer = setTimeout(() => timeout.abort(error), ms);
  try {
    return await abortable(promise, timeout.signal);
  } finally {
    clearTimeout(timer);
  }
}
