import type { Status } from '../../errors.ts';
import type { ResponseHeaders } from './upstream-body.ts';
import { isTooLargeVersion } from './upstream-error.ts';

/**
 * What a response to a list, a watch or a probe shows.
 *
 * - `usable`: the API server has sent it, and works.
 * - `failing`: the API server has sent it, and does not work (5xx).
 * - `overloaded`: 429. An API server sends it in plain text, so that anything may have sent it. It shows nothing.
 * - `absent`: the API server has no such collection, or something else has answered. Other responses show which.
 * - `foreign`: something else has answered in place of the API server, such as a captive portal or a gateway. It
 *   counts as no answer.
 */
export type Judgement = 'usable' | 'failing' | 'overloaded' | 'absent' | 'foreign';

/** A response, as far as it was read. */
export interface ReadResponse {
  readonly statusCode: number;
  readonly headers: ResponseHeaders;
  /** A relay has sent it. */
  readonly isRelay?: boolean | undefined;
  /** Kind of the list in the body. Undefined: there is no list in it. */
  readonly kind?: string | undefined;
  /** The Status in the body. Undefined: there is no Status in it. */
  readonly status?: Status | undefined;
}

/** What an API server would have sent. */
export interface ExpectedResponse {
  /** The requested media type, without parameters. */
  readonly type: string;
  readonly kind: string;
  /** API group of the collection; empty for core. */
  readonly group: string;
}

/**
 * What a relay passes on from the API server: the caller may not read this (403), there is no such collection (404),
 * and an expired version (410). All else is a refusal of its own, after which the API server itself is asked.
 */
const PASSED_ON: readonly number[] = [403, 404, 410];

/** Groups that every API server serves. It answers plain text only for the path of a group that it does not serve. */
const ALWAYS_SERVED: readonly string[] = ['', 'discovery.k8s.io'];

/**
 * Decides who has sent a response. This is the only place that does: shared waits, fail-over, snapshots, the correction
 * from the container runtime and readiness follow from it. An API server sends a list of the requested kind in the
 * requested type, or a refusal with a Status.
 */
export function judgeResponse(response: ReadResponse, expected: ExpectedResponse): Judgement {
  const { statusCode, headers, isRelay, kind, status } = response;
  const type = mediaType(headers);
  if (statusCode === 200) {
    return type === expected.type && kind === expected.kind ? 'usable' : 'foreign';
  }
  // maxinflight.go and priority-and-fairness.go in apiserver server/filters.
  if (statusCode === 429) return 'overloaded';
  if (isRelay === true && !PASSED_ON.includes(statusCode)) return 'foreign';
  if (statusCode >= 400 && status !== undefined) {
    return statusCode >= 500 && !isTooLargeVersion({ status }) ? 'failing' : 'usable';
  }
  const isPlain404 = statusCode === 404 && type === 'text/plain';
  return isPlain404 && !ALWAYS_SERVED.includes(expected.group) ? 'absent' : 'foreign';
}

/** The media type of a response without its parameters; empty if it names none. */
export function mediaType(headers: ResponseHeaders): string {
  const [type = ''] = String(headers['content-type'] ?? '').split(';');
  return type.trim().toLowerCase();
}
