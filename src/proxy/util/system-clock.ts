import type { Clock } from '../../filter/projection/clock.ts';

/** The machine's monotonic clock. It is independent of the time of day. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs).unref();
    return () => clearTimeout(timer);
  },
};
