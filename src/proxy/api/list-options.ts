import { WrapperError } from '../../errors.ts';
import { parseVersion } from '../../filter/view/version-allocator.ts';

/** The query of a read (apimachinery meta/v1 ListOptions and GetOptions), checked. */
export interface ListOptions {
  readonly watch: boolean;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** Undefined: absent, empty or `0`, that is any state will do. */
  readonly version: bigint | undefined;
  readonly match: '' | 'NotOlderThan' | 'Exact';
  readonly continue: string;
  /** Undefined: not given. */
  readonly sendInitialEvents: boolean | undefined;
  readonly allowWatchBookmarks: boolean;
  /** In seconds; undefined: not given. */
  readonly timeoutSeconds: number | undefined;
}

/** `limit` may be ignored; the others change nothing in what is answered, or only a Table, which is not. */
const IGNORED = new Set(['limit', 'pretty', 'timeout', 'includeObject']);
const KNOWN = new Set([
  'watch',
  'labelSelector',
  'fieldSelector',
  'resourceVersion',
  'resourceVersionMatch',
  'continue',
  'sendInitialEvents',
  'allowWatchBookmarks',
  'timeoutSeconds',
]);

/**
 * Reads the query of a list, watch or get. Throws `BadRequest` for a parameter that is unknown (it may
 * change the meaning of the request), given twice, or that has a value of the wrong kind.
 */
export function parseListOptions(query: URLSearchParams): ListOptions {
  for (const name of new Set(query.keys())) {
    if (IGNORED.has(name)) continue;
    if (!KNOWN.has(name)) bad(`the query parameter ${JSON.stringify(name)} is not known here`);
    if (query.getAll(name).length > 1) bad(`the query parameter "${name}" is given more than once`);
  }
  const options: ListOptions = {
    watch: boolean(query, 'watch') ?? false,
    labelSelector: query.get('labelSelector') ?? '',
    fieldSelector: query.get('fieldSelector') ?? '',
    version: version(query),
    match: match(query),
    continue: query.get('continue') ?? '',
    sendInitialEvents: boolean(query, 'sendInitialEvents'),
    allowWatchBookmarks: boolean(query, 'allowWatchBookmarks') ?? false,
    timeoutSeconds: seconds(query),
  };
  assertCombination(options, query.get('resourceVersion') ?? '');
  return options;
}

/** The rules of apimachinery's ValidateListOptions (meta/internalversion/validation). */
function assertCombination(options: ListOptions, resourceVersion: string): void {
  const { watch, match: matching, sendInitialEvents } = options;
  if (!watch && sendInitialEvents !== undefined) {
    invalid('sendInitialEvents is forbidden for list');
  }
  if (watch && sendInitialEvents === undefined && matching !== '') {
    invalid('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided');
  }
  if (sendInitialEvents !== undefined && matching !== 'NotOlderThan') {
    invalid('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  }
  if (watch) return;
  if (matching !== '' && resourceVersion === '') {
    invalid('resourceVersionMatch is forbidden unless resourceVersion is provided');
  }
  if (matching === 'Exact' && resourceVersion === '0') {
    invalid('resourceVersionMatch "Exact" is forbidden for resourceVersion "0"');
  }
}

function boolean(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  // An apiserver reads anything but "false" and "0" as true, also nothing (apimachinery/pkg/runtime conversion.go);
  // what looks like a mistake is one here.
  if (/^(|1|t|true)$/i.test(value)) return true;
  if (/^(0|false)$/i.test(value)) return false;
  return bad(`${name}=${JSON.stringify(value)} is neither true nor false`);
}

function seconds(query: URLSearchParams): number | undefined {
  const value = query.get('timeoutSeconds');
  if (value === null || value === '') return undefined;
  if (!/^[0-9]{1,9}$/.test(value)) bad(`timeoutSeconds=${JSON.stringify(value)} is no number`);
  return Number(value) || undefined;
}

function version(query: URLSearchParams): bigint | undefined {
  const value = query.get('resourceVersion') ?? '';
  if (value === '' || value === '0') return undefined;
  return parseVersion(value) ?? bad(`resourceVersion=${JSON.stringify(value)} is no version`);
}

function match(query: URLSearchParams): ListOptions['match'] {
  const value = query.get('resourceVersionMatch') ?? '';
  if (value === '' || value === 'NotOlderThan' || value === 'Exact') return value;
  return bad(`resourceVersionMatch=${JSON.stringify(value)} is not supported`);
}

function bad(message: string): never {
  throw new WrapperError('BadRequest', message);
}

/** Clients fall back from a streaming list to a list when they get 422 Invalid. */
function invalid(message: string): never {
  throw new WrapperError('BadRequest', message, {
    status: { code: 422, reason: 'Invalid', message: `kube-proxy-wrapper: ${message}` },
  });
}
