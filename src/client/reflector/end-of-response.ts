import type { Status } from '../../errors.ts';
import type { RawList } from '../../filter/codec/codec.ts';
import type { Query } from '../api/query.ts';
import type { RequestEnd } from '../api/request-end.ts';
import { endOfStatus } from '../api/request-error.ts';
import type { UpstreamResponse } from '../upstream/upstream.ts';

/** Groups that every API server serves. It answers plain text only for the path of a group that it does not serve. */
const ALWAYS_SERVED: readonly string[] = ['', 'discovery.k8s.io'];

/**
 * What a relay passes on from the API server: the caller may not read this (403), there is no such collection (404),
 * the version has expired (410), and too many requests (429). Anything else is its own refusal.
 */
const PASSED_ON: readonly number[] = [403, 404, 410, 429];
/** A query is at fault, and not who answers it. */
const AT_FAULT: readonly number[] = [400, 405, 406, 415, 422];

/**
 * Decides who has sent a response that is not the requested list or watch. This is the only place that does: shared
 * waits, fail-over, snapshots, the correction from the container runtime and readiness follow from it, by
 * {@link REQUEST_ENDS}. An API server refuses with a Status.
 *
 * A relay is not left because it refuses a query that only other clients than kube-proxy have sent: one of them would
 * cost all queries of this node their relay.
 *
 * @param status the Status in the body, if there is one
 * @param group API group of the collection; empty for core
 */
export function endOfResponse(
  { statusCode, headers, isRelay }: Pick<UpstreamResponse, 'statusCode' | 'headers' | 'isRelay'>,
  status: Status | undefined,
  group: string,
  forOthers = false,
): RequestEnd {
  if (isRelay === true && !PASSED_ON.includes(statusCode)) {
    if (!forOthers) return 'relayRefused';
    if (!AT_FAULT.includes(statusCode)) return 'overloaded';
  }
  // maxinflight.go and priority-and-fairness.go in apiserver server/filters.
  if (statusCode === 429) return 'overloaded';
  if (statusCode >= 400 && status !== undefined) return endOfStatus(status);
  const isPlain404 = statusCode === 404 && mediaType({ headers }) === 'text/plain';
  return isPlain404 && !ALWAYS_SERVED.includes(group) ? 'mayBeAbsent' : 'foreign';
}

/** The media type of a response without its parameters; empty if it names none. */
export function mediaType({ headers }: Pick<UpstreamResponse, 'headers'>): string {
  const [type = ''] = String(headers['content-type'] ?? '').split(';');
  return type.trim().toLowerCase();
}

/**
 * Whether a list is of a query's collection. Caches of edge platforms make its kind up from the name of the collection
 * (MetaServer: `ServicecidrList`), or send whole objects in place of metadata. Their items say what they are.
 */
export function isListOf(
  { resource, metadataOnly }: Pick<Query, 'resource' | 'metadataOnly'>,
  { kind, itemKinds }: Pick<RawList, 'kind' | 'itemKinds'>,
): boolean {
  const kinds = [resource.kind, ...(metadataOnly === true ? ['PartialObjectMetadata'] : [])];
  if (![...itemKinds].every((each) => kinds.includes(each))) return false;
  const found = kind.toLowerCase();
  return itemKinds.size > 0 || kinds.some((each) => found === `${each}List`.toLowerCase());
}
