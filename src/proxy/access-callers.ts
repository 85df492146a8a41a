import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { WrapperError } from '../errors.ts';
import { NODES, RESOURCES } from '../filter/resource.ts';
import type { Caller, Gate, ReadAttributes } from './access.ts';
import { CallerReader } from './access-caller.ts';
import type { AccessReviews } from './access-reviews.ts';
import { assertSameOrigin } from './host-check.ts';
import { asksForMetadata } from './media-type.ts';
import type { Passthrough } from './passthrough.ts';
import { readUrl } from './request-url.ts';
import { parseTarget, type Target } from './target.ts';

export interface CallersGateOptions {
  readonly nodeName: string;
  /** Under the identity of the caller. */
  readonly passthrough: Pick<Passthrough, 'forward' | 'upgrade'>;
  readonly reviews: AccessReviews;
}

/**
 * The https door: callers bring their own identity. What a view shows is for those who may read it at the
 * API server; everything else is passed on with the caller's own token, and nothing of ours.
 */
export class CallersGate implements Gate {
  readonly #options: CallersGateOptions;
  readonly #callers = new CallerReader();

  constructor(options: CallersGateOptions) {
    this.#options = options;
  }

  admit(request: IncomingMessage): Caller {
    const caller = this.#callers.read(request);
    // A browser adds a certificate by itself, a token it does not.
    if (caller.kind === 'certificate') assertSameOrigin(request);
    return caller;
  }

  isPassedOn(
    request: IncomingMessage,
    path: string,
    target: Target,
    query: URLSearchParams,
  ): boolean {
    if (request.method !== 'GET') return true;
    if (target.kind === 'events') return true;
    if (target.kind === 'other') {
      assertNoView(path);
      return true;
    }
    // No view has that, and there are no endpoints in it. Whoever asks so asks for nothing else.
    if (asksForMetadata(request.headers.accept)) return true;
    if (target.resource !== NODES) return false;
    const { nodeName } = this.#options;
    const own =
      target.kind === 'object'
        ? target.name === nodeName
        : query.get('fieldSelector') === `metadata.name=${nodeName}`;
    return !own;
  }

  async assertMayRead(caller: Caller, attributes: ReadAttributes): Promise<void> {
    if (caller.kind === 'anyone') throw new WrapperError('Unauthorized', 'who asks is not known');
    await this.#options.reviews.assert(caller, attributes);
  }

  pass(request: IncomingMessage, response: ServerResponse, caller: Caller): void {
    assertCanBePassedOn(caller);
    this.#options.passthrough.forward(request, response);
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    assertCanBePassedOn(this.admit(request));
    const { headers } = request;
    const { path } = readUrl(request);
    const target = parseTarget(path);
    // An API server also watches over a websocket. Of the clients that try that first some go on only after a 503.
    if (target.kind === 'collection' || target.kind === 'object') {
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
    this.#options.passthrough.upgrade(request, socket, head);
  }
}

function assertCanBePassedOn(caller: Caller): void {
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
