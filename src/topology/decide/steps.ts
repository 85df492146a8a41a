/**
 * Work in short steps. After each step the caller may do other work, or stop. After the first step, the work must not
 * read anything that may have changed meanwhile.
 */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Endpoints, or names of ports, that one step handles. */
export const STEP = 1_000;

/** Runs all steps without a pause. */
export function takeAll<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
