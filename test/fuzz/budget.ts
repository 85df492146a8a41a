import type fc from 'fast-check';

/** Seconds for which each property is tested: `KPW_FUZZ_SECONDS`, by default 2. */
export const FUZZ_SECONDS = Number(process.env.KPW_FUZZ_SECONDS ?? 2);

/** Time limit of a test in milliseconds. No single case may take long, even on a busy machine. */
export const FUZZ_TIMEOUT_MS = FUZZ_SECONDS * 1000 + 60_000;

/** Runs as many cases as the time allows. A failure prints the seed and path with which `fc.assert` repeats it. */
export const budget: fc.Parameters<unknown> = {
  numRuns: 100_000_000,
  interruptAfterTimeLimit: FUZZ_SECONDS * 1000,
  // A run that reaches the time limit has passed.
  markInterruptAsFailure: false,
};
