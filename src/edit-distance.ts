/**
 * Number of letters to insert, delete, replace or swap (optimal string alignment).
 *
 * @param max a larger number need not be exact
 */
export function editDistance(from: string, to: string, max = Number.POSITIVE_INFINITY): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1];
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    before = row;
    row = next;
    // The rows below have no smaller number. Most texts differ at once, and tenants may write thousands of them.
    const least = Math.min(...row);
    if (least > max) return least;
  }
  return row[to.length] ?? 0;
}

/** Whether a text becomes another one by at most this many such changes; default: those of a misspelt name. */
export function isWithinEdits(from: string, to: string, max = 2): boolean {
  return Math.abs(from.length - to.length) <= max && editDistance(from, to, max) <= max;
}
