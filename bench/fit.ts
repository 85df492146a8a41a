/** A measured point: x, y. */
export type Point = readonly [number, number];

/** The line through points, by least squares. */
export interface Line {
  readonly slope: number;
  /** y where x is 0. */
  readonly constant: number;
  /** Standard error of the slope; 0 where two points leave none. */
  readonly error: number;
}

/** @param points at least two, of different x; of others the slope is NaN */
export function fitLine(points: readonly Point[]): Line {
  const x = mean(points.map(([each]) => each));
  const y = mean(points.map(([, each]) => each));
  const spread = points.reduce((sum, [at]) => sum + (at - x) ** 2, 0);
  const slope = points.reduce((sum, [at, value]) => sum + (at - x) * (value - y), 0) / spread;
  const rest = points.reduce((sum, [at, value]) => sum + (value - y - slope * (at - x)) ** 2, 0);
  const error = Math.sqrt(rest / Math.max(1, points.length - 2) / spread);
  return { slope, constant: y - slope * x, error };
}

/**
 * The k of y = a·xᵏ that fits best: 1 is in proportion, 2 is quadratic, 0 does not depend on x.
 *
 * @param constant what y would be without any x; taken off first. Points that are not above it are left out
 * @returns undefined unless there are two points of different x above 0
 */
export function exponentOf(points: readonly Point[], constant = 0): number | undefined {
  const logs = points
    .map(([x, y]): Point => [Math.log(x), Math.log(y - constant)])
    .filter((point) => point.every(Number.isFinite));
  const { slope } = fitLine(logs);
  return Number.isFinite(slope) ? slope : undefined;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
