import { fitLine, type Point } from '../fit.ts';

/** A line through points, by least squares. */
export interface Slope {
  /** Per hour. */
  readonly perHour: number;
  /** Standard error of that. */
  readonly error: number;
}

/** @param points seconds and a value; at least three */
export function slopeOf(points: readonly Point[]): Slope {
  const { slope, error } = fitLine(points);
  return { perHour: slope * 3600, error: error * 3600 };
}
