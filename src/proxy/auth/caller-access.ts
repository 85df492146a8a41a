import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { WrapperError } from '../../errors.ts';
import { NODES, RESOURCES } from '../../filter/codec/resource.ts';
import { parseListOptions } from '../api/list-options.ts';
import { metadataAccept } from '../api/media-type.ts';
import { parseRequestInfo, type RequestInfo } from '../api/request-info.ts';
import { readUrl } from '../api/request-url.ts';
import { readBody } from '../http/request-body.ts';
import { assertSameOrigin } from '../http/request-checks.ts';
import type { ForwardingLimits } from '../passthrough/forwarding-limits.ts';
import type { Passthrough } from '../passthrough/passthrough.ts';
import type { AccessPolicy, Caller, ReadAttributes } from './access-policy.ts';
import type { AccessReviewAuthorizer } from './access-review-authorizer.ts';
import { CallerReader } from './caller-identity.ts';
import type { ViewRequestInfo } from './resource-attributes.ts';

export interface CallerAccessOptions {
  readonly nodeName: string;
  /** Under the identity of the caller. */
  readonly passthrough: Pick<Passthrough, 'forward' | 'upgrade'>;
  readonly reviews: AccessReviewAuthorizer;
  readonly limits: ForwardingLimits;
  /** Writes an error to a client whose request was not forwarded after all. */
  readonly respond: (request: IncomingMessage, response: ServerResponse, error: unknown) => void;
  /** How long a body that is read before it is forwarded may take to arrive, in milliseconds; default 10,000. */
  readonly bodyMs?: number;
}

/**
 * A body of a known length up to this is read before the API server is asked, so that a slow client holds none of its
 * seats; in bytes. Larger ones, rare as they are, are streamed.
 */
const MAX_BUFFERED_BYTES = 256 * 1024;
const BODY_MS = 10_000;

/**
 * The https door: callers bring their own identity. What a view shows is for those who may read it at the
 * API server; everything else is passed on with the caller's own token, and nothing of ours.
 */
export class CallerAccess implements AccessPolicy {
  readonly #options: CallerAccessOptions;
  readonly #callers = new CallerReader();

  constructor(options: CallerAccessOptions) {
    this.#options = options;
  }

  authenticate(request: IncomingMessage): Caller {
    const caller = this.#callers.read(request);
    // A browser adds a certificate by itself, a token it does not.
    if (caller.kind === 'certificate') assertSameOrigin(request);
    return caller;
  }

  shouldForward(
    request: IncomingMessage,
    path: string,
    target: RequestInfo,
    query: URLSearchParams,
  ): boolean {
    if (request.method !== 'GET') return true;
    if (target.kind === 'events') return true;
    if (target.kind === 'other') {
      assertNoView(path);
      return true;
    }
    return (
      this.#isOtherNode(target, query) || metadataAcceptOf(request, target, query) !== undefined
    );
  }

  #isOtherNode(target: RequestInfo, query: URLSearchParams): boolean {
    if (!isViewTarget(target) || target.resource !== NODES) return false;
    const { nodeName } = this.#options;
    return target.kind === 'object'
      ? target.name !== nodeName
      : query.get('fieldSelector') !== `metadata.name=${nodeName}`;
  }

  async authorize(caller: Caller, attributes: ReadAttributes): Promise<void> {
    if (caller.kind === 'anyone') throw new WrapperError('Unauthorized', 'who asks is not known');
    await this.#options.reviews.assert(caller, attributes);
  }

  forward(
    request: IncomingMessage,
    response: ServerResponse,
    caller: Caller,
    target: RequestInfo,
  ): void {
    assertCanBePassedOn(caller);
    const { passthrough, limits, respond } = this.#options;
    const { query } = readUrl(request);
    // Of what a view serves only metadata is forwarded: the header is ours, so that nothing else can be answered.
    const isUnserved = request.method !== 'GET' || this.#isOtherNode(target, query);
    const accept = isUnserved ? undefined : metadataAcceptOf(request, target, query);
    const options = accept === undefined ? {} : { accept };
    response.once('close', limits.enter(caller.id));
    if (!isSmallBody(request)) {
      passthrough.forward(request, response, options);
      return;
    }
    const { bodyMs: timeoutMs = BODY_MS } = this.#options;
    readBody(request, { maxBytes: MAX_BUFFERED_BYTES, name: 'Content-Length', timeoutMs }).then(
      (body) => passthrough.forward(request, response, { ...options, body }),
      (error) => {
        if (!request.complete) response.shouldKeepAlive = false;
        if (!response.destroyed) respond(request, response, error);
      },
    );
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const caller = this.authenticate(request);
    assertCanBePassedOn(caller);
    const { headers } = request;
    const { path } = readUrl(request);
    const target = parseRequestInfo(path);
    // An API server also watches over a websocket. Of the clients that try that first some go on only after a 503.
    if (isViewTarget(target)) {
      const { message } = noView(path);
      const status = { code: 503, reason: 'ServiceUnavailable', message };
      throw new WrapperError('BadRequest', message, { status });
    }
    assertNoView(path);
    // A refused upgrade leaves the connection in use; a body would be taken for the next caller's request.
    if (
      headers['transfer-encoding'] !== undefined ||
      Number(headers['content-length'] ?? 0) !== 0
    ) {
      throw new WrapperError('BadRequest', 'a request to switch protocols has no body');
    }
    socket.once('close', this.#options.limits.enter(caller.id));
    this.#options.passthrough.upgrade(request, socket, head);
  }
}

function isViewTarget(target: RequestInfo): target is ViewRequestInfo {
  return target.kind === 'collection' || target.kind === 'object';
}

/**
 * The Accept header with which a read of what a view serves is forwarded; undefined: it is answered from the view. No
 * view has metadata alone, and there are no endpoints in it. Throws `BadRequest` for a query that could be
 * read as a list by us and as a watch by an API server.
 */
function metadataAcceptOf(
  { headers: { accept } }: IncomingMessage,
  target: RequestInfo,
  query: URLSearchParams,
): string | undefined {
  if (!isViewTarget(target) || !accept?.includes('PartialObjectMetadata')) return undefined;
  const isList = target.kind === 'collection' && !parseListOptions(query).watch;
  return metadataAccept(accept, isList ? 'PartialObjectMetadataList' : 'PartialObjectMetadata');
}

function isSmallBody({ headers }: IncomingMessage): boolean {
  const length = Number(headers['content-length'] ?? 0);
  return length > 0 && length <= MAX_BUFFERED_BYTES;
}

function assertCanBePassedOn(caller: Caller): asserts caller is Extract<Caller, { kind: 'token' }> {
  if (caller.kind === 'token') return;
  throw new WrapperError(
    'Forbidden',
    'a client certificate cannot be passed on to the API server: its owner can only read what is ' +
      'served here (services, endpoints, endpointslices, servicecidrs, this node); use a token for the rest',
  );
}

/**
 * Throws `BadRequest` for another way to read what is served as a view: an old version, the deprecated
 * watch paths, a slash at the end. Passed on, it would be answered unfiltered.
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
  // Below an object are its subresources, which no view shows.
  if (isView && (deprecatedWatch || names.length < 2)) throw noView(path);
}

function noView(path: string): WrapperError {
  return new WrapperError(
    'BadRequest',
    `${path.slice(0, 200)} is served in its present version only, by list, watch=true and get over http`,
  );
}
