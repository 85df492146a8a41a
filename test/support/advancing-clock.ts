import { afterEach, beforeEach, jest } from '@jest/globals';

export interface AdvancingClock {
  /** Moves `performance.now` forward. */
  advance(ms: number): void;
}

/**
 * For code that is given no Clock; clocks.ts has these. Mocks `performance.now` in each test of the file or of the
 * `describe` that calls this. The clock begins at the real time, and moves on by what `advance` is given.
 *
 * @param options.runs whether it also runs by itself, as a server needs it; default true. If not, a test can check a
 *   limit to the millisecond.
 */
export function advancingClock({ runs = true } = {}): AdvancingClock {
  let ahead = 0;
  let spy: { mockRestore(): void };
  beforeEach(() => {
    ahead = 0;
    const real = performance.now.bind(performance);
    // A whole number: differences are exact.
    const start = Math.floor(real());
    const now = runs ? real : () => start;
    spy = jest.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
  });
  afterEach(() => spy.mockRestore());
  return {
    advance(ms) {
      ahead += ms;
    },
  };
}
