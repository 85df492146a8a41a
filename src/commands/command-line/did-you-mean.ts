/**
 * The known word that the user probably meant; undefined: none is near enough. Dashes and the case of letters do not
 * count: `--nodename` is `--node-name`.
 */
export function didYouMean(word: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replaceAll('-', '');
  const typed = plain(word);
  const most = Math.max(1, Math.floor(typed.length / 3));
  const near = known
    .map((each) => ({ each, distance: editDistance(typed, plain(each)) }))
    .filter(({ each, distance }) => distance <= most || isStart(typed, plain(each)))
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.each;
}

/** ` Did you mean explain?`, or nothing. */
export function suggestion(word: string, known: readonly string[], prefix = ''): string {
  const meant = didYouMean(word, known);
  return meant === undefined ? '' : ` Did you mean ${prefix}${meant}?`;
}

/** A user who types `comp` or `name` means the word that begins with it. */
function isStart(typed: string, known: string): boolean {
  return typed.length >= 3 && known.startsWith(typed);
}

/** Number of letters to insert, delete, replace or swap (optimal string alignment). */
function editDistance(from: string, to: string): number {
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
  }
  return row[to.length] ?? 0;
}
