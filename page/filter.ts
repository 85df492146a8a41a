import type { Service } from './service.ts';

/** Which Services are listed. */
export const SHOW = {
  all: { label: 'All', has: () => true },
  filtered: { label: 'Filtered', has: ({ outcome }) => outcome === 'filtered' },
  cut: { label: 'Endpoints left out', has: ({ kept, total }) => kept < total },
  none: { label: 'None left', has: ({ kept, total }) => kept === 0 && total > 0 },
  warnings: { label: 'Warnings', has: ({ warnings }) => warnings.length > 0 },
} as const satisfies Record<string, { label: string; has: (service: Service) => boolean }>;

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
  /** Empty: all Namespaces. */
  readonly namespace: string;
  /** Code of a warning; empty: all. Only with `show: 'warnings'`. */
  readonly code: string;
}

export const ALL: Filter = { query: '', show: 'all', namespace: '', code: '' };

/** Services of the Namespace whose text contains all words of the search. */
export function search(
  services: readonly Service[],
  query: string,
  namespace: string,
): readonly Service[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0 && namespace === '') return services;
  return services.filter(
    ({ name, text }) =>
      (namespace === '' || name.startsWith(`${namespace}/`)) &&
      words.every((word) => text.includes(word)),
  );
}

/** Namespaces of the Services, sorted. */
export function namespacesOf(services: readonly Service[]): string[] {
  return [...new Set(services.map(({ name }) => name.slice(0, name.indexOf('/'))))].sort();
}
