import type { Clock } from '../../filter/projection/clock.ts';

/** The machine's monotonic clock. It is independent of the time of day. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};
