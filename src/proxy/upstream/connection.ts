/// <reference path="../../undici-parts.d.ts" />
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Dispatcher } from 'undici';
import Client from 'undici/lib/dispatcher/client.js';
import {
  type AgentRequest,
  type AgentResponse,
  Exchange,
  type ExchangeConnection,
} from './exchange.ts';

/**
 * Window of a stream, in bytes: what the server may send before we have read. 16 MB over a round trip of 100 ms take
 * 0.4 s; with the default of 64 KB they take 26 s. It is also the most that is kept for a reader that is slow.
 */
const STREAM_WINDOW = 4 << 20;
/**
 * Window of the connection. Node gives it back as soon as bytes arrive, before their reader has them, so that a slow
 * reader does not hold up the other streams (OnDataChunkReceived in src/node_http2.cc).
 */
const CONNECTION_WINDOW = 8 << 20;
/** Streams on one connection, if the server allows more. */
const MAX_STREAMS = 1_000;

/** Time limit for a connection, TLS and the server's first SETTINGS included, in milliseconds. */
const CONNECT_MS = 5_000;
/** Idle connections end before an apiserver ends them (90 s), so that none is used while it is being closed. */
const IDLE_MS = 60_000;

export interface ConnectionOptions {
  readonly server: URL;
  /** Time limit for the start of a response, in milliseconds. */
  readonly headersMs: number;
  /** Starts to connect; see undici's connector. */
  readonly connect: Connect;
  /** Called with the code of a GOAWAY. */
  readonly onGoaway: (code: number) => void;
  /** Called when it has no request any more. */
  readonly onIdle: () => void;
  /** Called once, when its socket is closed. */
  readonly onClose: (connection: Connection) => void;
}

export type Connect = ReturnType<typeof import('undici/lib/core/connect.js').default>;

/**
 * One connection: an undici Client that connects once, for the first request. A Client that connects again
 * sends requests a second time, and takes the streams of both connections for one order.
 *
 *     connecting ── SETTINGS, or HTTP/1.1 ──▶ open ── GOAWAY ──▶ draining ── last request ended ──▶ closed
 *         │                                    │                   │                                  ▲
 *         └────────────────────────────────────┴── error, destroy ─┴──────────────────────────────────┘
 *
 * Over HTTP/2 it has as many requests as the server allows, else one at a time.
 */
export class Connection implements ExchangeConnection {
  /** Resolves when it can be used; rejects if it never can. */
  readonly ready: Promise<void>;
  readonly #options: ConnectionOptions;
  readonly #client: Client;
  readonly #exchanges = new Set<Exchange>();
  readonly #connectTimer: NodeJS.Timeout;
  readonly #onReady: () => void;
  readonly #onFailed: (error: Error) => void;
  #socket: Socket | undefined;
  #session: ClientHttp2Session | undefined;
  #state: 'connecting' | 'open' | 'draining' | 'closed' = 'connecting';
  #protocol: 'unknown' | 'HTTP/1.1' | 'HTTP/2' = 'unknown';
  #hasAnswered = false;
  #isClosedHere = false;
  #bytes = 0;
  #silentLooks = 0;
  #heardAt = performance.now();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.ready = promise;
    // Who waits for it gets the error, too.
    this.ready.catch(() => {});
    [this.#onReady, this.#onFailed] = [resolve, reject];
    const late = new Error(`no connection within ${CONNECT_MS / 1000} s`);
    this.#connectTimer = setTimeout(() => this.destroy(late), CONNECT_MS);
    this.#client = new Client(options.server.origin, {
      connect: (where, callback) => this.#connect(where, callback),
      // Those of requests are ours, and a quiet watch has none.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      maxConcurrentStreams: MAX_STREAMS,
      initialWindowSize: STREAM_WINDOW,
      connectionWindowSize: CONNECTION_WINDOW,
      pingInterval: 0,
    });
  }

  get isConnected(): boolean {
    return this.#protocol !== 'unknown';
  }

  get isHttp2(): boolean {
    return this.#protocol === 'HTTP/2';
  }

  /** Number of requests that are open. */
  get requests(): number {
    return this.#exchanges.size;
  }

  /** Time limit for the start of a response, in milliseconds. */
  get headersMs(): number {
    return this.#options.headersMs;
  }

  /** Whether a request can be sent now. */
  get hasRoom(): boolean {
    if (this.#state !== 'open' || this.#socket?.destroyed) return false;
    if (!this.isHttp2) return this.requests === 0;
    const { maxConcurrentStreams = MAX_STREAMS } = this.#session?.remoteSettings ?? {};
    return this.requests < Math.min(maxConcurrentStreams, MAX_STREAMS);
  }

  /** Whether the server has closed it without an answer to any request. */
  get wasInVain(): boolean {
    return this.isHttp2 && !this.#hasAnswered && !this.#isClosedHere;
  }

  /** Whether the server, or something on the way, has closed it after it had answered a request. */
  get isLostInUse(): boolean {
    return this.#hasAnswered && !this.#isClosedHere && this.#socket?.destroyed === true;
  }

  /** Sends a request: the first one, or if it {@link hasRoom}. */
  request(request: AgentRequest): Promise<AgentResponse> {
    const { path, method, headers, body = null } = request;
    const exchange = new Exchange(request, this);
    this.#exchanges.add(exchange);
    const known = method as Dispatcher.HttpMethod;
    this.#client.dispatch({ path, method: known, headers, body }, exchange);
    return exchange.response;
  }

  /** Destroys it, and ends its requests with the error. */
  destroy(error: Error): void {
    this.#isClosedHere = true;
    clearTimeout(this.#connectTimer);
    this.#onFailed(error);
    for (const exchange of [...this.#exchanges]) exchange.end(error);
    this.#client.destroy(error).catch(() => {});
    this.#socket?.destroy();
  }

  /** Counts the looks in a row, this one included, in which no byte has arrived. @param counts false: it may be silent */
  countSilence(counts: boolean): void {
    const bytes = this.#socket?.bytesRead ?? 0;
    const isSilent = counts && bytes === this.#bytes && this.#state !== 'connecting';
    this.#silentLooks = isSilent ? this.#silentLooks + 1 : 0;
    if (!isSilent) this.#heardAt = performance.now();
    this.#bytes = bytes;
  }

  get silentLooks(): number {
    return this.#silentLooks;
  }

  /** For how long no byte has arrived, in milliseconds. */
  get silentMs(): number {
    return performance.now() - this.#heardAt;
  }

  /** Sends a PING of HTTP/2; calls `onAck` when it is answered. */
  ping(onAck: () => void): void {
    if (this.#session === undefined || this.#session.destroyed) return;
    this.#session.ping((error) => {
      if (error === null) onAck();
    });
  }

  /** Called with the stream of a request of HTTP/2, before that is sent. */
  onStream({ session }: ClientHttp2Stream): void {
    if (session === undefined || this.#session !== undefined) return;
    this.#session = session as ClientHttp2Session;
    session.once('remoteSettings', ({ maxConcurrentStreams }) => {
      if (maxConcurrentStreams !== 0) this.#open();
      else this.destroy(new Error('it allows no HTTP/2 stream on a new connection'));
    });
    session.once('goaway', (code) => {
      if (this.#state !== 'closed') this.#state = 'draining';
      this.#options.onGoaway(code);
      this.#endIfDrained();
    });
  }

  /** Called when the headers of a response have arrived. */
  onAnswer(): void {
    this.#hasAnswered = true;
  }

  /** Called once by each exchange, when it needs the connection no more. */
  onEnd(exchange: Exchange): void {
    this.#exchanges.delete(exchange);
    if (this.requests > 0) return;
    this.#endIfDrained();
    this.#options.onIdle();
  }

  /** Its session would wait until the server ends the requests that the GOAWAY has refused. */
  #endIfDrained(): void {
    if (this.#state === 'draining' && this.requests === 0) this.#socket?.destroy();
  }

  #connect(...[where, callback]: Parameters<Connect>): void {
    // It never connects again; see #onClose.
    if (this.#socket !== undefined) return;
    const connected = (error: Error | null, socket: Socket | TLSSocket | null): void => {
      if (error !== null || socket === null) {
        this.#onFailed(error ?? new Error('no connection'));
        callback(error as Error, null);
        return;
      }
      // It may have been reset together with the end of the handshake, which a session that begins now would not notice.
      setImmediate(() => {
        if (socket.destroyed) {
          callback(new Error('the connection was closed'), null);
          return;
        }
        const isHttp2 = 'alpnProtocol' in socket && socket.alpnProtocol === 'h2';
        this.#protocol = isHttp2 ? 'HTTP/2' : 'HTTP/1.1';
        callback(null, socket);
        if (!isHttp2) this.#open();
      });
    };
    this.#socket = this.#options.connect(where, connected as typeof callback);
    this.#socket.once('close', () => this.#onClose());
  }

  #open(): void {
    clearTimeout(this.#connectTimer);
    if (this.#state === 'connecting') this.#state = 'open';
    this.#onReady();
  }

  #onClose(): void {
    this.#state = 'closed';
    clearTimeout(this.#connectTimer);
    const lost = new Error('the connection was closed');
    this.#onFailed(lost);
    // After what undici says about them. It leaves those that were not sent in its queue.
    setImmediate(() => {
      for (const exchange of [...this.#exchanges]) exchange.lose(lost);
    });
    this.#client.destroy(lost).catch(() => {});
    this.#options.onClose(this);
  }
}
