/**
 * The first few of a list as text: `a, b and 3 more`.
 *
 * @param total how long the list is; default: all of it is in `items`
 */
export function firstFew(items: readonly string[], most = 5, total = items.length): string {
  const shown = items.slice(0, most);
  const more = total - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
