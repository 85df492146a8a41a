/**
 * Work that is done in steps, each of which takes little: after each one the caller may let other work go on, or
 * stop. Nothing that changes in the meantime may be read after the first step.
 */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Endpoints, or names of ports, that one step looks at. */
export const STEP = 1_000;

/** Takes all steps without a pause. */
export function takeAll<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
