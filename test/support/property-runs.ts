/**
 * How many cases a property is tried with: a fifth of `all`, so that `npm test` stays quick. With KPW_ALL_RUNS=1, as in
 * CI, all of them.
 */
export function propertyRuns(all: number): number {
  return process.env.KPW_ALL_RUNS === '1' ? all : Math.ceil(all / 5);
}
