import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { WrapperError } from '../../errors.ts';
import {
  type AgentRequest,
  type AgentResponse,
  type AgentTimes,
  type Connections,
  isReset,
  isSafe,
  limitInformational,
  NoResponse,
  Unprocessed,
} from './agent-request.ts';
import { cancelStream, Http2Body } from './http2-body.ts';
import { PingCheck } from './ping-check.ts';

const { NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_REFUSED_STREAM } = constants;

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

/** A PING was not answered. The server may be well, and answer on a new connection. */
export class DeadConnection extends WrapperError {}

export interface Http2SessionOptions {
  readonly server: URL;
  /** A connection whose server has chosen HTTP/2. */
  readonly socket: TLSSocket;
  readonly times: AgentTimes;
  /** Called when the server has answered a PING. */
  readonly onPing: () => void;
  /** Called when it is found dead, before its requests end. */
  readonly onDead: (requests: number) => void;
  /** Called when the server wants fewer requests (ENHANCE_YOUR_CALM). */
  readonly onCalm: () => void;
  /**
   * Called when it is closed. `inVain`: by the server, before it has answered a request.
   */
  readonly onEnd: (session: Http2Session, inVain: boolean) => void;
}

/**
 * One HTTP/2 connection and its streams.
 *
 *     starting ── first SETTINGS ──▶ open ── GOAWAY, or close() ──▶ draining ── last stream ended ──▶ closed
 *         │                           │                                 │                             ▲
 *         └───────────────────────────┴── PING unanswered, network error, GOAWAY with an error ───────┘
 *
 * - starting: no request is sent, because the first SETTINGS say how many streams the server allows.
 * - open: a request is sent if the server allows one more stream. Without streams it closes after the idle time.
 * - draining: streams go on. The server, or {@link close}, wants no more.
 * - closed: all streams have ended. Those that the server has verifiably not processed as {@link Unprocessed}.
 *
 * Nghttp2 does the rest: it closes the streams above the last one of a GOAWAY with REFUSED_STREAM, ignores
 * trailers and unknown frames, and limits the size of headers.
 */
export class Http2Session implements Connections {
  readonly #options: Http2SessionOptions;
  readonly #session: ClientHttp2Session;
  readonly #check: PingCheck;
  readonly #streams = new Set<ClientHttp2Stream>();
  #state: 'starting' | 'open' | 'draining' | 'closed' = 'starting';
  /** Whether the server has answered a request. */
  #hasAnswered = false;
  #isClosedHere = false;
  /** Why the connection was lost. */
  #loss: Error | undefined;
  #idle: NodeJS.Timeout | undefined;

  /** Resolves when the server's SETTINGS have arrived. Rejects if they do not within the time for a connection. */
  static async start(options: Http2SessionOptions): Promise<Http2Session> {
    const session = new Http2Session(options);
    await session.#started();
    return session;
  }

  private constructor(options: Http2SessionOptions) {
    this.#options = options;
    const { server, socket, times } = options;
    const session = connect(server.origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
    });
    this.#session = session;
    session.once('connect', () => session.setLocalWindowSize(CONNECTION_WINDOW));
    session.on('goaway', (code) => this.#onGoaway(code));
    session.on('error', (error) => {
      this.#loss ??= error;
    });
    session.once('close', () => this.#onClose());
    this.#check = new PingCheck({
      bytesRead: () => socket.bytesRead,
      ping: (onAck) => this.#ping(onAck),
      onDead: (silentMs) => this.#onDead(silentMs),
      quietMs: times.quietMs,
      pingMs: times.pingMs,
    });
  }

  /** Whether a request can be sent now. */
  get hasRoom(): boolean {
    if (this.#state !== 'open' || this.#session.closed || this.#session.destroyed) return false;
    const { maxConcurrentStreams = Number.POSITIVE_INFINITY } = this.#session.remoteSettings;
    return this.#streams.size < maxConcurrentStreams;
  }

  /** Sends a request. Only if it {@link hasRoom}. */
  async request(request: AgentRequest): Promise<AgentResponse> {
    const stream = this.#open(request);
    const { headersMs } = this.#options.times;
    const late = new NoResponse(`no response within ${headersMs / 1000} s`);
    const timer = setTimeout(() => cancelStream(stream, late), headersMs);
    try {
      return await new Promise<AgentResponse>((resolve, reject) => {
        // This listener is not removed, because later errors are emitted too. The reader gets them from the body.
        stream.on('error', (error) => reject(this.#explain(error, stream, request.method)));
        stream.once('close', () => {
          const error = new Error(`the stream was closed with code ${stream.rstCode}`);
          reject(this.#explain(error, stream, request.method));
        });
        const countInformational = limitInformational((error) => cancelStream(stream, error));
        stream.on('headers', countInformational);
        stream.once('response', (headers) => {
          this.#hasAnswered = true;
          const { ':status': statusCode = 0, ...others } = headers;
          const body = new Http2Body(stream, (error) => this.#reason(error));
          resolve({ statusCode, headers: others, body });
        });
        if (request.body !== undefined) stream.end(request.body);
      });
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#isClosedHere = true;
    if (this.#state !== 'closed') this.#state = 'draining';
    this.#session.close();
  }

  destroy(): void {
    this.#isClosedHere = true;
    this.#session.destroy();
    this.#options.socket.destroy();
  }

  async #started(): Promise<void> {
    const { connectMs } = this.#options.times;
    const late = new Error(`no HTTP/2 SETTINGS within ${connectMs / 1000} s`);
    const timer = setTimeout(() => this.#lose(late), connectMs);
    try {
      await new Promise<void>((resolve, reject) => {
        this.#session.once('remoteSettings', () => resolve());
        this.#session.once('close', () =>
          reject(this.#loss ?? new Error('the connection was closed')),
        );
      });
    } finally {
      clearTimeout(timer);
    }
    if (this.#state === 'starting') this.#state = 'open';
    this.#whenIdle();
  }

  #open({ path, method, headers, body, signal }: AgentRequest): ClientHttp2Stream {
    clearTimeout(this.#idle);
    const { host } = this.#options.server;
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const pseudo = { ':method': method, ':path': path, ':scheme': 'https', ':authority': host };
    const endStream = body === undefined;
    const stream = this.#session.request({ ...headers, ...length, ...pseudo }, { endStream });
    const abort = (): void => cancelStream(stream, new Error('the request was aborted'));
    signal.addEventListener('abort', abort, { once: true });
    this.#streams.add(stream);
    stream.once('close', () => {
      signal.removeEventListener('abort', abort);
      this.#streams.delete(stream);
      this.#whenIdle();
    });
    return stream;
  }

  /** The reason for the end of a stream: that of its connection says more. */
  #reason(error: Error): Error {
    if (this.#loss !== undefined) return this.#loss;
    return this.#session.destroyed
      ? new Error('the connection was closed', { cause: error })
      : error;
  }

  /** The reason for the end of a stream without a response: {@link Unprocessed} if the request may be repeated. */
  #explain(error: Error, stream: ClientHttp2Stream, method: string): Error {
    const cause = this.#reason(error);
    const isUnsent = stream.id === undefined;
    const isRefused = stream.rstCode === NGHTTP2_REFUSED_STREAM;
    // As for HTTP/1.1: the server may close a connection just when it is used again.
    const isLost = this.#session.destroyed && !this.#isClosedHere;
    const isReused = this.#hasAnswered && isLost && (!this.#loss || isReset(this.#loss));
    if (isUnsent || isRefused || (isReused && isSafe(method)))
      return new Unprocessed('', { cause });
    return cause;
  }

  #onGoaway(code: number): void {
    if (code === NGHTTP2_ENHANCE_YOUR_CALM) this.#options.onCalm();
    if (this.#state !== 'closed') this.#state = 'draining';
  }

  #onDead(silentMs: number): void {
    this.#options.onDead(this.#streams.size);
    const { pingMs } = this.#options.times;
    const problem = `the API server at ${this.#options.server.host} has fallen silent: no answer to a PING within ${pingMs / 1000} s`;
    this.#lose(new DeadConnection('Unreachable', problem, { silentMs }));
  }

  #lose(error: Error): void {
    this.#loss ??= error;
    this.#session.destroy(error);
    // The session would wait until what it has written has left, which it never does on a dead path.
    this.#options.socket.destroy();
  }

  #onClose(): void {
    this.#check.stop();
    clearTimeout(this.#idle);
    this.#state = 'closed';
    this.#options.onEnd(this, !this.#hasAnswered && !this.#isClosedHere);
  }

  #ping(onAck: () => void): void {
    if (this.#session.destroyed) return;
    this.#session.ping((error) => {
      if (error !== null) return;
      this.#options.onPing();
      onAck();
    });
  }

  #whenIdle(): void {
    clearTimeout(this.#idle);
    if (this.#streams.size > 0 || this.#state !== 'open') return;
    this.#idle = setTimeout(() => this.close(), this.#options.times.idleMs);
    this.#idle.unref();
  }
}
