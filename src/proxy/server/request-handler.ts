import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import type { Codecs, Encoding } from '../../filter/codec/codec.ts';
import { NODES } from '../../filter/codec/resource.ts';
import type { View } from '../../filter/view/view.ts';
import { type ListOptions, parseListOptions } from '../api/list-options.ts';
import { negotiate } from '../api/media-type.ts';
import type { Query } from '../api/query.ts';
import { parseRequestInfo, type RequestInfo } from '../api/request-info.ts';
import { readUrl } from '../api/request-url.ts';
import type { AccessPolicy, ReadAttributes } from '../auth/access-policy.ts';
import { notGranted } from '../auth/loopback-access.ts';
import {
  assertNotImpersonating,
  attributesOf,
  type ViewRequestInfo,
} from '../auth/resource-attributes.ts';
import { type ListenerLimits, respondAndDestroy } from '../http/http-errors.ts';
import { HttpListener, type ListenAddress } from '../http/http-listener.ts';
import { type RefusalLog, reasonOf } from '../http/refusal-log.ts';
import { sendBody, sendError } from '../http/respond.ts';
import type { ServerCertificate } from '../http/server-certificate.ts';
import type { WriteTimeout } from '../http/write-timeout.ts';
import { ANYONE, type Holder } from '../views/view-budget.ts';
import type { ViewLease } from '../views/view-registry.ts';
import { readList, readObject, startWatch, type WatchTimes } from './view-response.ts';
import type { Watcher } from './watcher.ts';

export interface RequestHandlerOptions {
  /** Name of the setting with the address, for messages. */
  readonly name: string;
  readonly address: ListenAddress;
  /** For https; absent: plain http. */
  readonly certificate?: ServerCertificate;
  /** Throws for an inherited socket that may not be served. */
  readonly assertHost?: (host: string) => void;
  /** Who is let in, and to what. */
  readonly accessPolicy: AccessPolicy;
  readonly bounds: ListenerLimits;
  readonly nodeName: string;
  readonly codecs: Codecs;
  readonly acquire: (query: Query, caller: Holder) => ViewLease;
  /** How long a request waits for its view to be complete, in milliseconds. */
  readonly readyWaitMs: number;
  readonly times: WatchTimes;
  /** A client that takes nothing of an answer for this long is given up, in milliseconds. */
  readonly stallMs: number;
  /** How long idle connections are kept after the close, in milliseconds; see {@link HttpListener.close}. */
  readonly drainMs: number;
  /** Logs and counts what is refused; default: one of its own. */
  readonly refusals?: RefusalLog;
  readonly logger: Logger;
}

/** Answers clients: reads from views, and the rest as the gate has it. */
export class RequestHandler {
  readonly #options: RequestHandlerOptions;
  readonly #listener: HttpListener;
  readonly #watchers = new Set<Watcher>();
  #stalled = 0;
  #closing = false;

  constructor(options: RequestHandlerOptions) {
    this.#options = options;
    this.#listener = new HttpListener({
      ...options,
      onRequest: (request, response) => {
        this.#handle(request, response).catch((error: unknown) => {
          // Not even an error could be told: that ends this request, and nothing else.
          this.#refused(request, error);
          response.destroy();
        });
      },
      onUpgrade: (request, socket, head) => this.#upgrade(request, socket, head),
    });
  }

  /** Name of the setting with its address. */
  get name(): string {
    return this.#options.name;
  }

  /** Number of open watches. */
  get watches(): number {
    return this.#watchers.size;
  }

  /** Answers that were broken off because their client took nothing, since the start. */
  get stalled(): number {
    return this.#stalled;
  }

  get listener(): Pick<HttpListener, 'connections' | 'refused'> {
    return this.#listener;
  }

  /** Starts to listen; returns the URL. Rejects with `InvalidSettings` when the address is taken. */
  async listen(): Promise<string> {
    return this.#listener.listen();
  }

  /** Stops accepting, which `stopped` hears of, and waits for what is under way. */
  async close(stopped: () => void): Promise<void> {
    await this.#listener.close(this.#options.drainMs, stopped);
  }

  /** Ends the watches with a bookmark, so that clients reconnect; one that still comes ends likewise. */
  endWatches(): void {
    this.#closing = true;
    for (const watcher of this.#watchers) watcher.end();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { codecs, accessPolicy } = this.#options;
    try {
      const caller = accessPolicy.authenticate(request);
      const { path, query: parameters } = readUrl(request);
      const target = parseRequestInfo(path);
      if (accessPolicy.shouldForward(request, path, target, parameters)) {
        accessPolicy.forward(request, response, caller, target);
        return;
      }
      const encoding = negotiate(request.headers.accept);
      const read = this.#readOf(request, target, parameters, encoding);
      await accessPolicy.authorize(caller, read.attributes);
      const holder = caller.kind === 'anyone' ? ANYONE : caller.id;
      if (!response.closed) await this.#read(response, read, holder);
    } catch (error) {
      this.#refused(request, error);
      sendError(request, response, codecs, error);
    }
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    try {
      this.#options.accessPolicy.upgrade(request, socket, head);
    } catch (error) {
      this.#refused(request, error);
      respondAndDestroy(socket, error);
    }
  }

  #refused({ method: verb, url: resource }: IncomingMessage, error: unknown): void {
    const { name: listener } = this.#options;
    const request = { ...{ listener, verb, resource }, reason: reasonOf(error) };
    if (error instanceof WrapperError) {
      this.#listener.refusals.record({ ...request, message: error.message });
    } else {
      const message = 'an error of the wrapper itself';
      this.#listener.refusals.record({ ...request, message, level: 'error', err: error });
    }
  }

  /** What is asked for. Throws for what no view answers. */
  #readOf(
    request: IncomingMessage,
    target: RequestInfo,
    parameters: URLSearchParams,
    encoding: Encoding,
  ): Read {
    if (target.kind === 'other' || target.kind === 'events') throw notGranted(request);
    if (request.method !== 'GET') throw wrongVerb(request);
    assertNotImpersonating(request);
    const options = parseListOptions(parameters);
    const query = this.#queryOf(target, options, encoding);
    return { target, options, query, attributes: attributesOf(target, options) };
  }

  async #read(
    response: ServerResponse,
    { target, options, query }: Read,
    holder: Holder,
  ): Promise<void> {
    const lease = this.#options.acquire(query, holder);
    response.once('close', () => lease.release());
    await this.#ready(lease.view, response, query);
    if (response.closed) return;
    const { encoding } = query;
    if (target.kind === 'object') {
      const buffers = readObject(lease.view, target, options);
      sendBody(response, encoding, buffers, this.#patience(response));
    } else if (options.watch) {
      this.#watch(lease.view, response, options);
    } else {
      sendBody(response, encoding, readList(lease.view, options), this.#patience(response));
    }
  }

  #watch(view: View, response: ServerResponse, options: ListOptions): void {
    const times = { ...this.#options.times, ...this.#patience(response) };
    const watcher = startWatch(view, response, options, times);
    this.#watchers.add(watcher);
    response.once('close', () => this.#watchers.delete(watcher));
    if (this.#closing) watcher.end();
  }

  #patience(response: ServerResponse): WriteTimeout {
    return { stallMs: this.#options.stallMs, onStalled: () => this.#stalledBy(response) };
  }

  #stalledBy({ req }: ServerResponse): void {
    this.#stalled++;
    this.#listener.refusals.record({
      ...{ listener: this.#options.name, reason: 'StalledClient', level: 'warn' },
      message: 'a client has taken nothing for stalledClientSeconds: its connection is ended',
      client: `${req.socket.remoteAddress} ${req.headers['user-agent'] ?? ''}`,
      resource: req.url,
    });
  }

  /** The question whose view holds the answer. Of Nodes only this one may be read. */
  #queryOf(target: ViewRequestInfo, options: ListOptions, encoding: Encoding): Query {
    const { resource, namespace } = target;
    const { labelSelector, fieldSelector } = options;
    const own = `metadata.name=${this.#options.nodeName}`;
    if (target.kind === 'object') {
      if (labelSelector !== '' || fieldSelector !== '' || options.watch) {
        throw new WrapperError('BadRequest', 'one object is read without selectors and watch');
      }
      if (resource !== NODES) {
        // All of the namespace: a decision about one slice needs its siblings.
        return { resource, namespace, labelSelector: '', fieldSelector: '', encoding };
      }
    }
    const asksOwn =
      target.kind === 'object' ? target.name === this.#options.nodeName : fieldSelector === own;
    if (resource === NODES && !asksOwn) {
      throw new WrapperError(
        'Forbidden',
        `of all nodes only this one can be read here: fieldSelector=${own}`,
      );
    }
    if (resource === NODES) {
      return { resource, namespace, labelSelector, fieldSelector: own, encoding };
    }
    return { resource, namespace, labelSelector, fieldSelector, encoding };
  }

  /**
   * Waits until the view is complete: never a partial one. Throws `NotReady`, or, when the view is not served, why: the
   * API server does not take the question, or there is no room.
   */
  async #ready(view: View, response: ServerResponse, query: Query): Promise<void> {
    if (view.refusal !== undefined) throw view.refusal;
    if (view.started) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        const name = query.resource.plural;
        reject(new WrapperError('NotReady', `${name} are not synced yet; see /readyz for why`));
        stop();
      }, this.#options.readyWaitMs);
      const done = (): void => {
        if (view.refusal === undefined) resolve();
        else reject(view.refusal);
        stop();
      };
      const stopWaiting = view.whenSettled(done);
      const stop = (): void => {
        clearTimeout(timer);
        stopWaiting();
        response.off('close', done);
      };
      response.once('close', done);
    });
  }
}

/** A read of a view, understood. */
interface Read {
  readonly target: ViewRequestInfo;
  readonly options: ListOptions;
  readonly query: Query;
  readonly attributes: ReadAttributes;
}

/** Writes are understood and not granted; other methods are no verbs of these collections. */
function wrongVerb(request: IncomingMessage): WrapperError {
  if (/^(POST|PUT|PATCH|DELETE)$/.test(request.method ?? '')) return notGranted(request);
  return new WrapperError('MethodNotAllowed', `${request.method} is no verb of this collection`);
}
