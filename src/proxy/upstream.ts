import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { WrapperError } from '../errors.ts';
import type { Credentials, TlsOptions } from './credentials.ts';
import { createBody, type ResponseHeaders, type UpstreamBody } from './upstream-body.ts';
import { addressOf, unreachable } from './upstream-error.ts';

export { type ResponseHeaders, readBody, type UpstreamBody } from './upstream-body.ts';

export interface UpstreamRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query, as the API server documents them. */
  readonly path: string;
  /** Names in lower case; those that authenticate are set by the upstream. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whole, for it is sent again after a 401. */
  readonly body?: string | Buffer;
  /**
   * An Authorization header to be sent in place of our own identity: without our headers, and over a
   * connection without our client certificate, which the API server would prefer to the header.
   */
  readonly authorization?: string;
  /** Ends the request at once, before the headers and while the body is read. */
  readonly signal?: AbortSignal;
}

export interface UpstreamResponse {
  readonly statusCode: number;
  readonly headers: ResponseHeaders;
  /** As it was sent, so gzip if the request allowed that; see {@link readBody}. */
  readonly body: UpstreamBody;
}

/** The way to the API server, under our own identity. */
export interface Upstream {
  /**
   * Sends a request; resolves when the headers of the answer are there, whatever its status. After a 401 the
   * credentials are read anew and the request is sent once more. Throws `Unreachable` when the network or
   * TLS fails, here or while the body is read, `Credentials`, and the reason of an aborted signal.
   */
  request(request: UpstreamRequest): Promise<UpstreamResponse>;
  /** `host:port` of the API server, for messages. */
  readonly address: string;
  /** Ends all requests and waits until no connection is left. */
  close(): Promise<void>;
}

export interface UpstreamOptions {
  readonly credentials: Credentials;
  readonly logger: Logger;
  /** How long a body may wait for its reader before its request is ended, in milliseconds; default 30,000. */
  readonly unreadMs?: number;
}

/** How long the API server may take to accept a connection, in milliseconds. */
const CONNECT_MS = 10_000;
/** How long it may take to begin an answer, in milliseconds. */
const HEADERS_MS = 30_000;
/** A dead peer is noticed by TCP keep-alive: nothing else is sent while a watch is quiet. */
const KEEP_ALIVE_MS = 30_000;
const UNREAD_MS = 30_000;

/** Opens the way to the API server; connects only when the first request is sent. */
export function createUpstream(options: UpstreamOptions): Upstream {
  return new AgentUpstream(options);
}

class AgentUpstream implements Upstream {
  readonly #credentials: Credentials;
  readonly #logger: Logger;
  readonly #unreadMs: number;
  readonly #unsubscribe: () => void;
  readonly #sockets = new Set<Socket>();
  readonly #requests = new Set<AbortController>();
  #own: Agent | undefined;
  /** For requests under another identity. */
  #foreign: Agent | undefined;
  #closed = false;

  constructor({ credentials, logger, unreadMs = UNREAD_MS }: UpstreamOptions) {
    this.#credentials = credentials;
    this.#logger = logger;
    this.#unreadMs = unreadMs;
    this.#unsubscribe = credentials.onTlsChange(() => this.#retire());
  }

  get address(): string {
    return addressOf(this.#server());
  }

  async request(request: UpstreamRequest): Promise<UpstreamResponse> {
    const response = await this.#send(request);
    if (response.statusCode !== 401 || request.authorization !== undefined) return response;
    response.body.destroy();
    await this.#credentials.refresh();
    return this.#send(request);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#unsubscribe();
    for (const controller of this.#requests) controller.abort(this.#closedError());
    this.#retire();
    await Promise.all([...this.#sockets].map(closeSocket));
  }

  async #send(request: UpstreamRequest): Promise<UpstreamResponse> {
    const { signal } = request;
    signal?.throwIfAborted();
    const identity =
      request.authorization === undefined
        ? await this.#credentials.headers()
        : { authorization: request.authorization };
    signal?.throwIfAborted();
    if (this.#closed) throw this.#closedError();
    const server = this.#server();
    const controller = this.#controllerFor(signal);
    const explain = (error: unknown): unknown =>
      controller.signal.aborted ? controller.signal.reason : unreachable(error, server);
    try {
      const answer = this.#agent(request).request({
        origin: server.origin,
        path: server.pathname.replace(/\/$/, '') + request.path,
        method: request.method,
        headers: { ...request.headers, ...identity },
        body: request.body ?? null,
        signal: controller.signal,
      });
      return this.#responseOf(await orAborted(answer, controller.signal), request, explain);
    } catch (error) {
      throw explain(error);
    } finally {
      // TODO
    }
  }
}
