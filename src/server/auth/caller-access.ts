import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseListOptions } from '../../client/api/list-options.ts';
import { metadataAccept } from '../../client/api/media-type.ts';
import type { RequestTarget, ViewRequestInfo } from '../../client/api/request-info.ts';
import { WrapperError } from '../../errors.ts';
import { NODES, RESOURCES } from '../../filter/objects/resource.ts';
import type { ForwardOptions, Passthrough } from '../forward/passthrough.ts';
import type { CallerLimits } from '../http/caller-limits.ts';
import { readRequestBody } from '../http/request-body.ts';
import { sendDocument } from '../http/respond.ts';
import { isUpgrade } from '../http/upgrade.ts';
import type { AccessPolicy } from './access-policy.ts';
import type { AccessReviewAuthorizer } from './access-review-authorizer.ts';
import { CallerReader } from './caller-reader.ts';

export interface CallerAccessOptions {
  readonly nodeName: string;
  /** Forwards with the credentials of the caller. Absent: nothing is forwarded. */
  readonly passthrough: Pick<Passthrough, 'forward'> | undefined;
  readonly authorizer: Pick<AccessReviewAuthorizer, 'identify' | 'authorize'>;
  /** Limits the requests that are forwarded for one user. */
  readonly forwarding: CallerLimits;
  /** Limits the reads of views by one user, including watches. */
  readonly reads: CallerLimits;
}

/**
 * A body of a known length up to this many bytes is read completely before it is forwarded. A slow client then does
 * not occupy a request slot of the API server. Larger bodies are rare, and are streamed.
 */
const MAX_BUFFERED_BODY_BYTES = 256 * 1024;
/** How long a body that is read before it is forwarded may take to arrive, in milliseconds. */
const BODY_MS = 10_000;

/**
 * The access policy of https, where callers have their own identity. A caller may read a view if the API server allows
 * the caller to read that resource. Everything else is forwarded with the caller's own token, and none of our
 * credentials.
 */
export function createCallerPolicy(options: CallerAccessOptions): AccessPolicy {
  const { nodeName, passthrough, authorizer, forwarding, reads } = options;
  const callers = new CallerReader();
  return (request) => {
    const caller = callers.read(request);
    const forward = async (response: ServerResponse, changes: ForwardOptions): Promise<void> => {
      const user = await authorizer.identify(caller, goneSignal(response));
      if (response.closed) return;
      if (isUpgrade(request)) {
        // An offer to watch over a websocket (see assertNoUpgrade). Forwarded without it, the watch would never end.
        sendDocument(response, Buffer.alloc(0));
        return;
      }
      response.once('close', forwarding.enter({ user }));
      const read = isSmallBody(request) ? { body: await readRequestBody(request, BODY_MS) } : {};
      passthrough?.forward(request, response, { ...changes, ...read });
    };
    return {
      forward: (response, target) => {
        const changes = passthrough && forwardingOf(request, target, nodeName);
        return changes && forward(response, changes);
      },
      authorize: async (attributes, response) => {
        const user = await authorizer.authorize(caller, attributes, goneSignal(response));
        const counted = { user, token: caller.id };
        const address = request.socket.remoteAddress;
        if (!response.closed) response.once('close', reads.enter({ ...counted, address }));
        return counted;
      },
    };
  };
}

/** How a request is forwarded; undefined: a view answers it. Throws if it must be neither. */
function forwardingOf(
  request: IncomingMessage,
  { path, query, info }: RequestTarget,
  nodeName: string,
): ForwardOptions | undefined {
  if (request.method !== 'GET') return {};
  if (info.kind === 'other') {
    assertNoView(path);
    return {};
  }
  if (isOtherNode(info, query, nodeName)) return {};
  // A read that a view could answer is forwarded only for its metadata. Our Accept header allows no other answer.
  const accept = metadataAcceptOf(request, info, query);
  return accept === undefined ? undefined : { accept };
}

function isOtherNode(info: ViewRequestInfo, query: URLSearchParams, nodeName: string): boolean {
  if (info.resource !== NODES) return false;
  return info.kind === 'object'
    ? info.name !== nodeName
    : query.get('fieldSelector') !== `metadata.name=${nodeName}`;
}

/** Aborts when the client disconnects, or has its response. */
function goneSignal(client: ServerResponse): AbortSignal {
  const gone = new AbortController();
  client.once('close', () => gone.abort());
  return gone.signal;
}

/**
 * The Accept header for a read that asks for metadata only, which is forwarded: no view serves metadata, and it
 * contains no endpoints. Undefined: the view answers the read. Throws `BadRequest` for a query that could be a list to
 * us and a watch to an API server.
 */
function metadataAcceptOf(
  { headers: { accept } }: IncomingMessage,
  info: ViewRequestInfo,
  query: URLSearchParams,
): string | undefined {
  if (!accept?.includes('PartialObjectMetadata')) return undefined;
  const isList = info.kind === 'collection' && !parseListOptions(query).watch;
  return metadataAccept(accept, isList ? 'PartialObjectMetadataList' : 'PartialObjectMetadata');
}

function isSmallBody({ headers }: IncomingMessage): boolean {
  const length = Number(headers['content-length'] ?? 0);
  return length > 0 && length <= MAX_BUFFERED_BODY_BYTES;
}

/**
 * Throws `BadRequest` for another path to a resource that views serve: an old version, also as a deprecated watch path,
 * or a slash at the end. If it were forwarded, the response would be unfiltered.
 */
function assertNoView(path: string): void {
  const [root, ...rest] = path.split('/').slice(1).map(decodeURIComponent);
  if (root !== 'api' && root !== 'apis') return;
  const group = root === 'api' ? '' : (rest.shift() ?? '');
  const [, ...below] = rest;
  const deprecatedWatch = below[0] === 'watch';
  if (deprecatedWatch) below.shift();
  if (below[0] === 'namespaces' && below.length > 2) below.splice(0, 2);
  const [plural, ...names] = below.filter((segment) => segment !== '');
  const isView = RESOURCES.some((each) => each.group === group && each.plural === plural);
  // Longer paths are subresources of an object, which no view serves.
  if (isView && (deprecatedWatch || names.length < 2)) throw noView(path);
}

function noView(path: string): WrapperError {
  return new WrapperError(
    'BadRequest',
    `${path.slice(0, 200)} is served in its current version only, by list, watch=true and get over http`,
  );
}
