import { badRequest, type FieldError, failure, invalid } from './kube-status.ts';

/** Query of a LIST or WATCH (metav1.ListOptions), parsed and validated. */
export interface ListOptions {
  readonly watch: boolean;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** Empty: the newest version. 0: any version. */
  readonly resourceVersion: '' | bigint;
  readonly resourceVersionMatch: string;
  readonly allowWatchBookmarks: boolean;
  /** Whether a watch begins with ADDED for all objects. */
  readonly sendInitialEvents: boolean;
  /** Absent: the server chooses. */
  readonly timeoutSeconds: number | undefined;
  /** 0: no limit. */
  readonly limit: number;
  readonly continue: string;
}

/**
 * Reads the query of a LIST or WATCH. Throws a StatusError as an API server does: 400 for a value of the
 * wrong type, 422 for a combination that is not allowed (apimachinery
 * pkg/apis/meta/internalversion/validation).
 */
export function parseListOptions(query: URLSearchParams): ListOptions {
  const watch = flag(query, 'watch') ?? false;
  const text = (name: string) => query.get(name) ?? '';
  const match = text('resourceVersionMatch');
  const sendInitialEvents = flag(query, 'sendInitialEvents');
  const version = text('resourceVersion');
  const facts = { watch, match, version, sendInitialEvents, continue: text('continue') };
  const errors = watch ? validateWatch(facts) : validateList(facts);
  if (errors.length > 0) {
    throw invalid({ kind: 'ListOptions', group: 'meta.k8s.io', name: '' }, errors);
  }
  return {
    watch,
    labelSelector: text('labelSelector'),
    fieldSelector: text('fieldSelector'),
    resourceVersion: parseVersion(version, watch),
    resourceVersionMatch: match,
    allowWatchBookmarks: flag(query, 'allowWatchBookmarks') ?? false,
    // SetListOptionsDefaults: a watch from "" or "0" begins with the state.
    sendInitialEvents: sendInitialEvents ?? (watch && ['', '0'].includes(version)),
    timeoutSeconds: integer(query, 'timeoutSeconds'),
    limit: integer(query, 'limit') ?? 0,
    continue: text('continue'),
  };
}

interface Facts {
  readonly match: string;
  readonly version: string;
  readonly sendInitialEvents: boolean | undefined;
  readonly continue: string;
}

const EXACT = 'Exact';
const NOT_OLDER_THAN = 'NotOlderThan';

function validateList(facts: Facts): FieldError[] {
  const { match, version, sendInitialEvents } = facts;
  const errors: FieldError[] = [];
  const forbid = (detail: string) => errors.push(forbidden('resourceVersionMatch', detail));
  if (match !== '') {
    if (version === '') {
      forbid('resourceVersionMatch is forbidden unless resourceVersion is provided');
    }
    if (facts.continue !== '') {
      forbid('resourceVersionMatch is forbidden when continue is provided');
    }
    if (match !== EXACT && match !== NOT_OLDER_THAN) {
      errors.push(notSupported(match, [EXACT, NOT_OLDER_THAN, '']));
    }
    if (match === EXACT && version === '0') {
      forbid('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
    }
  }
  if (sendInitialEvents !== undefined) {
    errors.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  return errors;
}

function validateWatch(facts: Facts): FieldError[] {
  const { match, sendInitialEvents } = facts;
  const errors: FieldError[] = [];
  const forbid = (detail: string) => errors.push(forbidden('resourceVersionMatch', detail));
  if (sendInitialEvents !== undefined && match !== NOT_OLDER_THAN) {
    forbid(`sendInitialEvents requires setting resourceVersionMatch to ${NOT_OLDER_THAN}`);
  }
  if (match === '') return errors;
  if (sendInitialEvents === undefined) {
    forbid('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided');
  }
  if (match !== NOT_OLDER_THAN) errors.push(notSupported(match, [NOT_OLDER_THAN]));
  if (facts.continue !== '') forbid('resourceVersionMatch is forbidden when continue is provided');
  return errors;
}

function forbidden(field: string, detail: string): FieldError {
  return { field, reason: 'FieldValueForbidden', message: `Forbidden: ${detail}` };
}

function notSupported(value: string, supported: readonly string[]): FieldError {
  const list = supported.map((each) => `"${each}"`).join(', ');
  const message = `Unsupported value: "${value}": supported values: ${list}`;
  return { field: 'resourceVersionMatch', reason: 'FieldValueNotSupported', message };
}

/** Go's conversion reads every value except these as true, even an empty one. */
function flag(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  return value === null ? undefined : !['0', 'false', 'False', 'FALSE'].includes(value);
}

function integer(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === '') return undefined;
  if (/^-?\d{1,18}$/.test(value)) return Number(value);
  throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
}

function parseVersion(value: string, watch: boolean): '' | bigint {
  if (value === '') return '';
  if (/^\d{1,20}$/.test(value)) return BigInt(value);
  const detail = `strconv.ParseUint: parsing ${JSON.stringify(value)}: invalid syntax`;
  const message = `resourceVersion: Invalid value: ${JSON.stringify(value)}: ${detail}`;
  // A watch fails in the watch cache, and an API server reports that as an internal error.
  throw watch ? failure(500, '', message) : badRequest(`invalid resource version: ${message}`);
}
