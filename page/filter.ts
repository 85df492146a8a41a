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

/** The search text and the selected filter. */
export interface Filter {
  readonly query: string;
  readonly show: Show;
}

export const ALL: Filter = { query: '', show: 'all' };

/** Services whose text contains all words of the search. */
export function search(services: readonly Service[], query: string): readonly Service[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return services;
  return services.filter(({ text }) => words.every((word) => text.includes(word)));
}
