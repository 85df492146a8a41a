/** A line through points, by least squares. */
export interface Slope {
  /** Per hour. */
  readonly perHour: number;
  /** Standard error of that. */
  readonly error: number;
}

/** @param points seconds and a value; at least three */
export function slopeOf(points: readonly (readonly [number, number])[]): Slope {
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const x = mean(points.map(([seconds]) => seconds));
  const y = mean(points.map(([, value]) => value));
  const spread = points.reduce((sum, [seconds]) => sum + (seconds - x) ** 2, 0);
  const slope = points.reduce((sum, [at, value]) => sum + (at - x) * (value - y), 0) / spread;
  const rest = points.reduce((sum, [at, value]) => sum + (value - y - slope * (at - x)) ** 2, 0);
  const error = Math.sqrt(rest / Math.max(1, points.length - 2) / spread);
  return { perHour: slope * 3600, error: error * 3600 };
}
