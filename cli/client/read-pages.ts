import type { AdminClient } from './admin-client.ts';

/** Number of entries of one response. The length of a response is limited. */
const PAGE = '500';

/** Reads all pages of a list whose entries are in `field`. */
export async function readPages<
  T extends { readonly next?: string } & Record<K, readonly unknown[]>,
  K extends string,
>(admin: AdminClient, path: string, field: K, query: URLSearchParams): Promise<Omit<T, 'next'>> {
  let all: Omit<T, 'next'> | undefined;
  query.set('limit', PAGE);
  for (;;) {
    const { next, ...page } = await admin.request<T>(`${path}?${query}`);
    const entries = all === undefined ? [] : (all as T)[field];
    all = { ...page, [field]: [...entries, ...(page as unknown as T)[field]] } as Omit<T, 'next'>;
    if (next === undefined) return all;
    query.set('after', next);
  }
}
