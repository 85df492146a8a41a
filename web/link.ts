import { type Filter, isShow } from './filter.ts';

export const TABS = ['Services', 'Decisions', 'Node'] as const;
export type Tab = (typeof TABS)[number];

/**
 * What the page shows. The hash of the URL has all of it, so that a link leads to the same: `#default/web?tab=Node`.
 */
export interface Link {
  /** The explained Service; undefined: none. */
  readonly open: string | undefined;
  readonly tab: Tab;
  readonly filter: Filter;
}

/** Reads a hash. What it does not have, or is invalid, gets its default. */
export function parseLink(hash: string): Link {
  const text = hash.replace(/^#/, '');
  const mark = text.indexOf('?');
  const service = decode(mark < 0 ? text : text.slice(0, mark));
  const params = new URLSearchParams(mark < 0 ? '' : text.slice(mark));
  const get = (name: string): string => params.get(name) ?? '';
  const show = get('show');
  return {
    open: service === '' ? undefined : service,
    tab: TABS.find((tab) => tab === get('tab')) ?? 'Services',
    filter: { query: get('search'), show: isShow(show) ? show : 'all', code: get('warning') },
  };
}

/** Writes a hash, without what is a default. */
export function formatLink({ open = '', tab, filter }: Link): string {
  const { query, show, code } = filter;
  const params = new URLSearchParams();
  if (tab !== 'Services') params.set('tab', tab);
  if (query !== '') params.set('search', query);
  if (show !== 'all') params.set('show', show);
  if (code !== '') params.set('warning', code);
  return params.size === 0 ? open : `${open}?${params}`;
}

function decode(text: string): string {
  try {
    return decodeURI(text);
  } catch {
    // An invalid percent sign cannot be part of a Service name.
    return '';
  }
}
