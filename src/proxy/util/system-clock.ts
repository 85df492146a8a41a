import type { Clock } from '../../filter/projection/clock.ts';

/** The machine's clock: it keeps running when somebody sets the time of day. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};
