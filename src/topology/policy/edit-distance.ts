/** Whether a text becomes another one by inserting, deleting or replacing at most this many characters. */
export function isWithinEdits(from: string, to: string, max: number): boolean {
  if (Math.abs(from.length - to.length) > max) return false;
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return (row[to.length] ?? 0) <= max;
}
