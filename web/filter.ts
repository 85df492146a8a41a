/** Which Services are listed. */
export const SHOW = {
  all: 'All',
  filtered: 'Filtered',
  failing: 'Traffic fails',
  warnings: 'Warnings',
} as const;

export type Show = keyof typeof SHOW;
export const SHOWS = Object.keys(SHOW) as Show[];

export function isShow(text: string): text is Show {
  return Object.hasOwn(SHOW, text);
}

/** What selects the listed Services. */
export interface Filter {
  /** The search text. */
  readonly query: string;
  readonly show: Show;
  /** Code of a warning; empty: all. Only with `show: 'warnings'`. */
  readonly code: string;
}

/** Number of Services that are listed. */
const LIMIT = 200;

/** The path of the list of Services. */
export function listPath({ query, show, code }: Filter): string {
  const params = new URLSearchParams({ count: 'true', limit: String(LIMIT) });
  if (query.trim() !== '') params.set('search', query);
  if (show === 'warnings') params.set('warnings', 'true');
  else if (show !== 'all') params.set('show', show);
  if (show === 'warnings' && code !== '') params.set('warning', code);
  return `explain?${params}`;
}
