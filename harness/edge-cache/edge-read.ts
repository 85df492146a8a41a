import type { CachedObject } from './cached-object.ts';

/** A list or watch of a client. */
export interface ReadPath {
  readonly plural: string;
  readonly apiVersion: string;
  readonly isWatch: boolean;
  readonly timeoutSeconds: number;
  /** What the API server is asked for the list. */
  readonly listPath: string;
  /** The collection with its selectors, to be watched at the API server. */
  readonly followPath: string;
  readonly matches: (object: CachedObject) => boolean;
}

const COLLECTION = /^\/(?:api|apis\/([^/]+))\/([^/]+)\/(?:namespaces\/[^/]+\/)?([a-z]+)$/;
/** What MetaServer ignores or does not know. */
const IGNORED = ['allowWatchBookmarks', 'sendInitialEvents', 'timeoutSeconds', 'watch', 'limit'];

/** Undefined: it is not the path of a collection. */
export function pathOf(url: string): ReadPath | undefined {
  const { pathname, searchParams } = new URL(url, 'http://x');
  const [, group, version, plural] = COLLECTION.exec(pathname) ?? [];
  if (plural === undefined || version === undefined) return undefined;
  const isWatch = /^(1|true)$/.test(searchParams.get('watch') ?? '');
  const timeoutSeconds = Number(searchParams.get('timeoutSeconds') ?? 1800);
  const labels = searchParams.get('labelSelector') ?? '';
  const fields = searchParams.get('fieldSelector') ?? '';
  for (const name of IGNORED) searchParams.delete(name);
  const listPath = `${pathname}?${searchParams}`;
  searchParams.delete('resourceVersion');
  searchParams.delete('resourceVersionMatch');
  return {
    plural,
    apiVersion: group === undefined ? version : `${group}/${version}`,
    isWatch,
    timeoutSeconds,
    listPath,
    followPath: `${pathname}?${searchParams}`,
    matches: ({ metadata }) =>
      hasLabels(metadata.labels ?? {}, labels) && hasName(metadata, fields),
  };
}

/** The form of the first clause that it can serve; undefined: none. Without a quality: the order counts. */
export function isAccepted(accept: string, sendsWhole: boolean): 'whole' | 'partial' | undefined {
  for (const clause of accept.split(',')) {
    const [type = '', ...parameters] = clause.trim().split(';');
    if (!['application/json', 'application/*', '*/*'].includes(type.trim())) continue;
    const isPartial = parameters.some((each) => each.trim().startsWith('as='));
    if (!isPartial) return 'whole';
    if (!sendsWhole) return 'partial';
  }
  return undefined;
}

/** `ServicecidrList` and `EndpointSliceList`, as MetaServer makes them up. */
export function kindOf(plural: string): string {
  if (plural === 'endpointslices') return 'EndpointSlice';
  if (plural === 'endpoints') return 'Endpoints';
  return `${plural[0]?.toUpperCase()}${plural.slice(1).replace(/ies$/, 'y').replace(/s$/, '')}`;
}

export function partialOf({ metadata }: CachedObject): CachedObject {
  return { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata };
}

function hasLabels(labels: Readonly<Record<string, string>>, selector: string): boolean {
  return selector.split(',').every((term) => {
    if (term === '') return true;
    if (term.startsWith('!')) return !Object.hasOwn(labels, term.slice(1));
    const [key = '', value] = term.split(/==?/);
    return value === undefined ? Object.hasOwn(labels, key) : labels[key] === value;
  });
}

/** Of fields, the store knows the name only. */
function hasName({ name }: CachedObject['metadata'], selector: string): boolean {
  const [, wanted] = /(?:^|,)metadata\.name=([^,]+)/.exec(selector) ?? [];
  return wanted === undefined || wanted === name;
}
