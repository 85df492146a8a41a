import { editDistance } from './edit-distance.ts';

/**
 * The known word that the user probably meant; undefined: none is near enough. Dashes and the case of letters do not
 * count: `--nodename` is `--node-name`.
 */
export function didYouMean(word: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replaceAll('-', '');
  const typed = plain(word);
  const most = Math.max(1, Math.floor(typed.length / 3));
  const near = known
    .map((name) => ({ name, distance: editDistance(typed, plain(name)) }))
    .filter(({ name, distance }) => distance <= most || isStart(typed, plain(name)))
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.name;
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
