/** A request as the judge counts it. */
export interface SeenRequest {
  /** `check`: a list of one name; see "A resumed watch is checked" in docs/architecture.md. */
  readonly verb: 'list' | 'watch' | 'check' | 'other';
  /** Plural name; empty if the path has none, and for reviews of callers. */
  readonly collection: string;
  /** The query: path, selectors and encoding, without the name of a check. */
  readonly query: string;
  /** The resourceVersion that is asked for; empty: the newest state. */
  readonly version: string;
  readonly accept: string;
  /** Who sent it: its Authorization header. */
  readonly client: string;
  /** Of performance.now(). */
  readonly at: number;
  readonly protocol: 'h2' | 'http/1.1';
  /** Of the answer, when there is one. */
  status?: number;
  /** The answer is HTML: it costs an API server nothing. */
  isHtml?: boolean;
  /** The answer was damaged on its way: who gets none tries again after 0.2 and 0.5 s. */
  isDamaged?: boolean;
}

export function toSeenRequest(
  url: string,
  accept: string,
  protocol: SeenRequest['protocol'],
  client = '',
): SeenRequest {
  const { pathname, searchParams } = new URL(url, 'http://front');
  const [, collection = ''] =
    /^\/api(?:s\/(?!auth)[^/]+)?\/v1(?:\/namespaces\/[^/]+)?\/([a-z]+)/.exec(pathname) ?? [];
  const fields = (searchParams.get('fieldSelector') ?? '').split(',');
  const isCheck = fields.some((field) => field.startsWith('metadata.name='));
  const labels = searchParams.get('labelSelector') ?? '';
  // Only the query of the own Node has a name itself.
  const isOwnNode = collection === 'nodes' && labels === '';
  const selectors = [
    fields.filter((field) => isOwnNode || !/^metadata\.name(space)?=/.test(field)).join(),
    labels,
  ];
  return {
    verb:
      collection === ''
        ? 'other'
        : searchParams.has('watch')
          ? 'watch'
          : isCheck
            ? 'check'
            : 'list',
    collection,
    version: searchParams.get('resourceVersion') ?? '',
    accept,
    client,
    protocol,
    query: `${accept.includes('protobuf') ? 'protobuf' : 'JSON'} ${pathname}?${selectors.join('&')}`,
    at: performance.now(),
  };
}
