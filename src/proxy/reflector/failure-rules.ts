import type { WrapperError } from '../../errors.ts';
import type { ServerFailure } from '../upstream/server-state.ts';
import { isTooLargeVersion } from '../upstream/upstream-error.ts';

/** Why a request of a reflector failed, or its watch ended. */
export type FailureCause =
  | 'unreachable'
  | 'serverError'
  | 'unauthorized'
  | 'overloaded'
  | 'cut'
  | 'expired'
  | 'behind'
  | 'unusable'
  | 'forbidden'
  | 'rejected'
  | 'noRoom'
  | 'other';

/** What a reflector does after a failure. Times are in milliseconds. */
export interface FailureRule {
  /**
   * The condition of the API server that this cause shows if no watch is open and it has answered no other request
   * since this one was sent.
   * The query then waits with all others (see ServerState) and `firstMs` and `maxMs` do not apply.
   */
  readonly server?: ServerFailure;
  /** The first wait. Each further failure of the same cause doubles it; see RetryBackoff for the jitter. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** Replaces `maxMs` after a minute of nothing but this cause; default: `maxMs`. */
  readonly lateMs?: number;
  /**
   * What is sent next: the same again, a list of at least the known version (the newest if that fails the same way),
   * a list of the newest, or a list after the second such failure in a row.
   */
  readonly next: 'same' | 'list' | 'listNewest' | 'listAfterSecond';
}

/**
 * The only table of waits. Whatever the rules and the answers are, QueryLimits bounds the requests of each query.
 *
 * A wait of the query ends when its time is over. A wait for the API server ends when it is the query's turn or the API
 * server has answered any request. A list, an event, or a watch of 10 s starts the waits again with the first one.
 */
export const FAILURE_RULES: Readonly<Record<FailureCause, FailureRule>> = {
  /** Refused, reset before the headers, no answer in time, DNS, TLS, credentials, a foreign answer (judgeResponse). */
  unreachable: { server: 'unreachable', firstMs: 200, maxMs: 3_000, next: 'same' },
  /** 5xx with a Status, without Retry-After. */
  serverError: { server: 'misbehaving', firstMs: 500, maxMs: 3_000, next: 'same' },
  /** 401, although the credentials were read again. */
  unauthorized: { server: 'refusing', firstMs: 1_000, maxMs: 3_000, next: 'same' },
  /** 408, 425, 429, or 503 with Retry-After: that time applies if it is longer. */
  overloaded: { firstMs: 1_000, maxMs: 3_000, next: 'same' },
  /** An open watch broke, or ended within 10 s without an event. */
  cut: { firstMs: 200, maxMs: 3_000, next: 'same' },
  /** 410: the list follows immediately. */
  expired: { firstMs: 0, maxMs: 3_000, next: 'list' },
  /** 504 ResourceVersionTooLarge, or a list older than what it had to be: the newest state is listed. */
  behind: { firstMs: 0, maxMs: 3_000, next: 'listNewest' },
  /** Objects or events that do not parse, or exceed a limit. Each attempt may be a whole list. */
  unusable: { firstMs: 200, maxMs: 10_000, lateMs: 60_000, next: 'listAfterSecond' },
  /** 403. An API server that starts answers so until its RBAC has loaded. */
  forbidden: { firstMs: 500, maxMs: 3_000, lateMs: 30_000, next: 'same' },
  /** 400, 404, 405, 406, 415, 422: the query itself is at fault, or there is no such collection. */
  rejected: { firstMs: 500, maxMs: 3_000, lateMs: 30_000, next: 'same' },
  /** A limit for memory (maxViewBytes, maxListBytes of all lists) is reached. */
  noRoom: { firstMs: 1_000, maxMs: 10_000, lateMs: 30_000, next: 'same' },
  /** Any other Status, such as 409, or an ERROR event with it. */
  other: { firstMs: 500, maxMs: 3_000, lateMs: 30_000, next: 'same' },
};

/** The query itself is at fault, or the API server does not have the collection. Rights may cure 401 and 403. */
const REJECTED: readonly number[] = [400, 404, 405, 406, 415, 422];

/** The same request may be answered a moment later. */
const NOT_NOW: readonly number[] = [408, 425, 429];

/** @param wasOpen the request was a watch, and it was open */
export function failureCause(error: WrapperError, wasOpen: boolean): FailureCause {
  const { code, status } = error;
  if (code === 'Malformed' || code === 'TooLarge') return 'unusable';
  if (code === 'LimitExceeded') return 'noRoom';
  if (code !== 'Refused' || status === undefined) return wasOpen ? 'cut' : 'unreachable';
  return isTooLargeVersion(error) ? 'behind' : causeOfStatus(status);
}

function causeOfStatus({
  code,
  retryAfterSeconds,
}: NonNullable<WrapperError['status']>): FailureCause {
  if (code === 410) return 'expired';
  if (code === 401) return 'unauthorized';
  if (code === 403) return 'forbidden';
  if (REJECTED.includes(code)) return 'rejected';
  if (NOT_NOW.includes(code) || (code === 503 && retryAfterSeconds !== undefined)) {
    return 'overloaded';
  }
  return code >= 500 ? 'serverError' : 'other';
}
