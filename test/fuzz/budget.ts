import type fc from 'fast-check';

/** Seconds that each property is tried for: 2, or `KPW_FUZZ_SECONDS`. */
export const FUZZ_SECONDS = Number(process.env.KPW_FUZZ_SECONDS ?? 2);

/** Milliseconds for a test of one property: no case may take long, on a busy machine either. */
export const FUZZ_TIMEOUT_MS = FUZZ_SECONDS * 1000 + 60_000;

/** Tries as many cases as the time allows; a failure prints the seed and path, for `fc.assert` to repeat it. */
export const budget: fc.Parameters<unknown> = {
  numRuns: 100_000_000,
  interruptAfterTimeLimit: FUZZ_SECONDS * 1000,
  // A run that the time limit ends is a good one.
  markInterruptAsFailure: false,
};
