/** The least of any quantity of numbers. Infinity: there are none. */
export function least(values: readonly number[]): number {
  return values.reduce((found, value) => Math.min(found, value), Infinity);
}

/** The greatest of any quantity of numbers. -Infinity: there are none. */
export function greatest(values: readonly number[]): number {
  return values.reduce((found, value) => Math.max(found, value), -Infinity);
}
