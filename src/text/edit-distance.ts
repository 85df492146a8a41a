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
    let least = i;
    // Further from the diagonal the number is above the maximum: there are as many letters to insert or delete.
    for (let j = Math.max(1, i - max); j <= Math.min(to.length, i + max); j++) {
      const same = from[i - 1] === to[j - 1];
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const number = Math.min(
        at(row, j) + 1,
        at(next, j - 1) + 1,
        at(row, j - 1) + (same ? 0 : 1),
        swapped ? at(before, j - 2) + 1 : Number.POSITIVE_INFINITY,
      );
      next[j] = number;
      least = Math.min(least, number);
    }
    before = row;
    row = next;
    // The rows below have no smaller number. Most texts differ at once, and tenants may write thousands of them.
    if (least > max) return least;
  }
  return at(row, to.length);
}

/** A number of a row; beside the diagonal there is none. */
function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}

/** Whether a text becomes another one by at most this many such changes; default: the changes of a misspelt name. */
export function isWithinEdits(from: string, to: string, max = 2): boolean {
  return Math.abs(from.length - to.length) <= max && editDistance(from, to, max) <= max;
}
