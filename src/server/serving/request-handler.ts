import type { IncomingMessage, ServerResponse } from 'node:http';
import { discoveryOf } from '../../client/api/discovery.ts';
import type { ListOptions } from '../../client/api/list-options.ts';
import { accepts, MEDIA_TYPES, negotiate } from '../../client/api/media-type.ts';
import type { Query } from '../../client/api/query.ts';
import { parseRequestTarget, type RequestTarget } from '../../client/api/request-info.ts';
import { readUrl } from '../../client/api/request-url.ts';
import { WrapperError } from '../../errors.ts';
import type { EventLog } from '../../filter/view/event-log.ts';
import type { View } from '../../filter/view/view.ts';
import type { Body, ListBody } from '../../filter/view/view-state.ts';
import { ANYONE, type CallerId, type ViewLease } from '../../node/views/view-entry.ts';
import type { AccessPolicy } from '../auth/access-policy.ts';
import type { CallerLimits, CountedCaller } from '../http/caller-limits.ts';
import { sendError } from '../http/http-errors.ts';
import { HttpListener, type HttpListenerOptions } from '../http/http-listener.ts';
import { LargeBlocks, type WriteLimits } from '../http/large-blocks.ts';
import { reasonOf } from '../http/refusal-log.ts';
import { sendBody, sendDocument } from '../http/respond.ts';
import { assertNoUpgrade, isUpgrade } from '../http/upgrade.ts';
import { type OwnNode, parseRead, type ReadRequest } from './parse-read.ts';
import { readList, readObject, refuseWatch, startWatch, type WatchTimes } from './view-response.ts';
import type { Watcher } from './watcher.ts';

/** The listener as in HttpListenerOptions, and what answers its requests. */
export interface RequestHandlerOptions
  extends Pick<
      HttpListenerOptions,
      'name' | 'address' | 'certificate' | 'listenerLimits' | 'refusals' | 'requests'
    >,
    OwnNode,
    WatchTimes {
  /** Who may read and forward what. */
  readonly accessPolicy: AccessPolicy;
  /** Parses each read in place of {@link parseRead}, in a relay. Throws if it is refused. */
  readonly parse?: (request: IncomingMessage, target: RequestTarget) => ReadRequest;
  readonly acquire: (query: Query, caller: CallerId) => ViewLease;
  /** Limits the bytes of bodies that are being sent to callers; absent: they are not limited. */
  readonly bodies?: CallerLimits | undefined;
  /** How long a request waits until its view is complete, in milliseconds. */
  readonly readyWaitMs: number;
  /** A client that reads nothing of a response for this long is disconnected, in milliseconds. */
  readonly writeTimeoutMs: number;
  /** How long idle connections are kept after the close, in milliseconds; see {@link HttpListener.close}. */
  readonly drainMs: number;
}

/** The reason of a response that ended because its client read nothing. */
const STALLED = 'StalledClient';

/**
 * Answers the requests on one listener. Each request passes these steps; an error in any of them becomes a Status:
 *
 * 1. authenticate: the access policy determines the caller.
 * 2. forward: the access policy decides whether the request goes to the API server (src/server/forward).
 * 3. authorize: every other request must be a read of a view, which the access policy allows or refuses. Discovery of
 *    the views is answered without it (api/discovery.ts); over https it was forwarded in step 2.
 * 4. read: the handler waits until the view is complete, and answers a LIST, GET or WATCH from it (view-response.ts).
 *
 * The other files of this folder: listeners.ts creates one handler for http and one for https from settings that
 * check-listeners.ts has checked; watcher.ts follows the event log of a view for one watch.
 */
export class RequestHandler {
  readonly #options: RequestHandlerOptions;
  readonly #listener: HttpListener;
  readonly #watchers = new Set<Watcher>();
  readonly #largeBlocks = new LargeBlocks();
  #closing = false;

  constructor(options: RequestHandlerOptions) {
    this.#options = options;
    // This timeout is for views. The listener has its own one for the end of every response.
    const { writeTimeoutMs: _forViews, ...listener } = options;
    this.#listener = new HttpListener({
      ...listener,
      onRequest: (request, response) => {
        this.#handle(request, response).catch((error: unknown) => {
          // Writing the error failed too: that ends this request, and nothing else.
          this.#reportRefusal(request, error);
          response.destroy();
        });
      },
    });
  }

  /** Name of the setting that has the address. */
  get name(): string {
    return this.#options.name;
  }

  /** Number of open watches. */
  get watches(): number {
    return this.#watchers.size;
  }

  /** Number of responses since the start that ended because their client read nothing. */
  get stalled(): number {
    return this.#options.refusals.counter.countOf(this.name, STALLED);
  }

  get listener(): Pick<HttpListener, 'connections' | 'refused' | 'sentBytes'> {
    return this.#listener;
  }

  /** Starts to listen; returns the URL. Rejects with `InvalidSettings` if the address cannot be used. */
  async listen(): Promise<string> {
    return this.#listener.listen();
  }

  /**
   * Stops accepting, and waits for active requests.
   *
   * @param onStopped called as soon as no connection is accepted any more
   */
  async close(onStopped: () => void): Promise<void> {
    await this.#listener.close(this.#options.drainMs, onStopped);
  }

  /** Ends all watches with a bookmark, so that clients reconnect. Watches that begin later end in the same way. */
  endWatches(): void {
    this.#closing = true;
    for (const watcher of this.#watchers) watcher.end();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { accessPolicy, parse } = this.#options;
    // What the client sends next may be in the other protocol.
    if (isUpgrade(request)) response.shouldKeepAlive = false;
    try {
      const access = accessPolicy(request);
      const { path, query } = readUrl(request);
      const target = parseRequestTarget(path, query);
      assertNoUpgrade(request, target);
      const forwarded = access.forward(response, target);
      if (forwarded !== undefined) {
        await forwarded;
        return;
      }
      let read = parse?.(request, target);
      if (read === undefined) {
        const encoding = negotiate(request.headers.accept);
        const body = request.method === 'GET' ? discoveryOf(path) : undefined;
        if (body !== undefined) {
          sendDocument(response, body);
          return;
        }
        read = parseRead(request, target, encoding, this.#options);
      }
      const caller = await access.authorize(read.attributes, response);
      if (!response.closed) await this.#answer(response, read, caller);
    } catch (error) {
      this.#reportRefusal(request, error);
      sendError(request, response, error);
    }
  }

  #reportRefusal({ method: verb, url: resource }: IncomingMessage, error: unknown): void {
    const { name: listener, refusals } = this.#options;
    const request = { listener, verb, resource, reason: reasonOf(error) };
    if (error instanceof WrapperError) {
      refusals.report({ ...request, message: error.message });
    } else {
      const message = 'an error of the wrapper itself';
      refusals.report({ ...request, message, level: 'error', err: error });
    }
  }

  async #answer(
    response: ServerResponse,
    { info, options, query, only }: ReadRequest,
    caller: CountedCaller | undefined,
  ): Promise<void> {
    const lease = this.#options.acquire(query, caller?.user ?? ANYONE);
    response.once('close', () => lease.release());
    await this.#waitUntilReady(lease.view, response, query);
    if (response.closed) return;
    await lease.catchUp?.(options.version);
    if (response.closed) return;
    const { view } = lease;
    assertAccepted(response, view);
    if (info.kind === 'collection' && options.watch) {
      this.#watch(view, response, options);
      return;
    }
    const body =
      info.kind === 'object' ? readObject(view, info, options) : readList(view, options, only);
    const leave = caller && this.#options.bodies?.enter(caller, body.bytes);
    if (leave !== undefined) response.once('close', leave);
    sendBody(response, view.codec.encoding, body, this.#writeLimits(response));
    this.#endWithState(view.log, response, body);
  }

  /**
   * Ends a response whose body is not written yet when the log drops its state. Its client could not continue from
   * there, and the body would keep objects in memory that nothing else has. Keeps the body until then, for those that
   * share it.
   */
  #endWithState(log: EventLog, response: ServerResponse, body: Body | ListBody): void {
    const { position } = 'state' in body ? body.state : { position: log.end };
    const unsubscribe = log.subscribe(() => {
      if (log.contains(position)) return;
      unsubscribe();
      this.#reportStalled(response);
      response.destroy();
    });
    response.once('close', unsubscribe);
  }

  #watch(view: View, response: ServerResponse, options: ListOptions): void {
    const times = { ...this.#options, ...this.#writeLimits(response) };
    let watcher: Watcher;
    try {
      watcher = startWatch(view, response, options, times);
    } catch (error) {
      if (!(error instanceof WrapperError) || response.headersSent) throw error;
      this.#reportRefusal(response.req, error);
      refuseWatch(view, response, error);
      return;
    }
    this.#watchers.add(watcher);
    response.once('close', () => this.#watchers.delete(watcher));
    if (this.#closing || isUpgrade(response.req)) watcher.end();
  }

  #writeLimits(response: ServerResponse): WriteLimits {
    const { writeTimeoutMs } = this.#options;
    const onTimeout = (): void => this.#reportStalled(response);
    return { writeTimeoutMs, onTimeout, largeBlocks: this.#largeBlocks };
  }

  #reportStalled({ req }: ServerResponse): void {
    this.#options.refusals.report({
      listener: this.#options.name,
      reason: STALLED,
      level: 'warn',
      message: 'a client reads nothing, or too slowly: its connection is closed',
      client: `${req.socket.remoteAddress} ${req.headers['user-agent'] ?? ''}`,
      resource: req.url,
    });
  }

  /**
   * Waits until the view is complete: a view is never served partially. Rejects with `NotReady`, or with the reason why
   * the view is not served: the API server refuses its query, or there is no room for it.
   */
  async #waitUntilReady(view: View, response: ServerResponse, query: Query): Promise<void> {
    if (view.refusal === undefined && !view.started) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, this.#options.readyWaitMs);
      const stopWaiting = view.whenSettled(resolve);
      response.once('close', resolve);
      await promise;
      clearTimeout(timer);
      stopWaiting();
      response.off('close', resolve);
    }
    if (view.refusal !== undefined) throw view.refusal;
    if (view.started || response.closed) return;
    const name = query.resource.plural;
    throw new WrapperError('NotReady', `${name} are not synced yet; see /readyz for why`);
  }
}

/** Throws `NotAcceptable` unless the client can read the encoding of a view, which is the API server's. */
function assertAccepted({ req: { headers } }: ServerResponse, { codec: { encoding } }: View): void {
  if (accepts(headers.accept, encoding)) return;
  const type = MEDIA_TYPES[encoding];
  throw new WrapperError(
    'NotAcceptable',
    `the server behind the wrapper has ${type} only, as caches of edge platforms; add it to the Accept header`,
  );
}
