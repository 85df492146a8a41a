import { WrapperError } from '../../errors.ts';

/** The checked query parameters of a read (apimachinery meta/v1 ListOptions and GetOptions). */
export interface ListOptions {
  readonly watch: boolean;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** Undefined: absent, empty or `0`, so any state satisfies the request. */
  readonly version: bigint | undefined;
  readonly match: '' | 'NotOlderThan' | 'Exact';
  readonly continue: string;
  /** Undefined: not given. */
  readonly sendInitialEvents: boolean | undefined;
  readonly allowWatchBookmarks: boolean;
  /** In seconds; undefined: not given. */
  readonly timeoutSeconds: number | undefined;
}

/**
 * With the values that an API server accepts. `limit` may be ignored. The others do not change the response, or only a
 * Table, which we do not serve.
 */
const IGNORED_PARAMETERS: ReadonlyMap<string, RegExp> = new Map([
  ['limit', /^[+-]?[0-9]*$/],
  ['pretty', /^/],
  ['timeout', /^(0|([0-9.]+(ns|us|ms|s|m|h))*)$/],
  ['includeObject', /^/],
]);
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

/** Maximum length of a selector. A view, and each of its log lines, has the selectors of its query. */
const MAX_SELECTOR = 4_096;

/**
 * Parses the query parameters of a LIST, WATCH or GET. Throws `BadRequest` for a parameter that is unknown, because it
 * could change the meaning of the request; that is given twice; or whose value is invalid.
 */
export function parseListOptions(query: URLSearchParams): ListOptions {
  for (const name of new Set(query.keys())) {
    const ignored = IGNORED_PARAMETERS.get(name);
    if (ignored !== undefined) {
      const value = query.get(name) ?? '';
      if (!ignored.test(value)) bad(`${name}=${JSON.stringify(value)} is invalid`);
      continue;
    }
    if (!KNOWN.has(name)) bad(`the query parameter ${JSON.stringify(name)} is unknown`);
    if (query.getAll(name).length > 1) bad(`the query parameter "${name}" is given more than once`);
  }
  const options: ListOptions = {
    watch: boolean(query, 'watch') ?? false,
    labelSelector: readSelector(query, 'labelSelector'),
    fieldSelector: readSelector(query, 'fieldSelector'),
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
    throwInvalid('sendInitialEvents is forbidden for list');
  }
  if (watch && sendInitialEvents === undefined && matching !== '') {
    throwInvalid(
      'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
    );
  }
  if (sendInitialEvents !== undefined && matching !== 'NotOlderThan') {
    throwInvalid('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  }
  if (watch) return;
  if (matching !== '' && resourceVersion === '') {
    throwInvalid('resourceVersionMatch is forbidden unless resourceVersion is provided');
  }
  if (matching === 'Exact' && resourceVersion === '0') {
    throwInvalid('resourceVersionMatch "Exact" is forbidden for resourceVersion "0"');
  }
}

function readSelector(query: URLSearchParams, name: string): string {
  const value = query.get(name) ?? '';
  const { length } = value;
  if (length > MAX_SELECTOR) bad(`${name} has ${length} characters, more than ${MAX_SELECTOR}`);
  return value;
}

function boolean(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  // An apiserver reads every value except "false" and "0" as true, also the empty one (apimachinery/pkg/runtime
  // conversion.go). Here, a value that looks like a mistake is an error.
  if (/^(|1|t|true)$/i.test(value)) return true;
  if (/^(0|false)$/i.test(value)) return false;
  return bad(`${name}=${JSON.stringify(value)} is neither true nor false`);
}

function seconds(query: URLSearchParams): number | undefined {
  const value = query.get('timeoutSeconds');
  if (value === null || value === '') return undefined;
  if (!/^[0-9]{1,9}$/.test(value)) bad(`timeoutSeconds=${JSON.stringify(value)} is not a number`);
  return Number(value) || undefined;
}

function version(query: URLSearchParams): bigint | undefined {
  const value = query.get('resourceVersion') ?? '';
  if (value === '') return undefined;
  if (!/^[0-9]+$/.test(value)) bad(`resourceVersion=${JSON.stringify(value)} is not a version`);
  // One of another server may have any length. It is too new for each view.
  return BigInt(value) || undefined;
}

function match(query: URLSearchParams): ListOptions['match'] {
  const value = query.get('resourceVersionMatch') ?? '';
  if (value === '' || value === 'NotOlderThan' || value === 'Exact') return value;
  return throwInvalid(`resourceVersionMatch=${JSON.stringify(value)} is not supported`);
}

function bad(message: string): never {
  throw new WrapperError('BadRequest', message);
}

/** With 422 Invalid, clients fall back from a streaming list to a list. */
function throwInvalid(message: string): never {
  throw new WrapperError('BadRequest', message, { status: { code: 422, reason: 'Invalid' } });
}
