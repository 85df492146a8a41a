import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { TlsOptions } from '../credentials/credentials.ts';
import { type Backoff, createBackoff } from '../util/backoff.ts';
import { abortable } from '../util/linked-abort-controller.ts';
import { SingleFlight } from '../util/single-flight.ts';
import {
  type AgentRequest,
  type AgentResponse,
  type AgentTimes,
  type Connections,
  Unprocessed,
} from './agent-request.ts';
import { connectTls } from './connect-tls.ts';
import { Http1Connections } from './http1-connections.ts';
import { Http2Session } from './http2-session.ts';

export interface UpstreamAgentOptions {
  readonly server: URL;
  readonly tls: TlsOptions;
  readonly times: AgentTimes;
  /** Called with each socket, before it is connected; of HTTP/1.1 also with a socket that is used again. */
  readonly onSocket: (socket: Socket) => void;
  /** Called whenever a connection is established. */
  readonly onConnect: () => void;
  /** Called when the server has answered a PING over HTTP/2. */
  readonly onPing: () => void;
  /** Called when a connection of HTTP/2 is found dead, with the number of its requests. */
  readonly onDead: (requests: number) => void;
}

/** A request that was not processed is sent so many times at most. */
const MAX_ATTEMPTS = 4;
/** How long the server is left alone after a connection that was of no use, in milliseconds. */
const CALM = { baseMs: 500, maxMs: 3_000 };

/**
 * Sends requests of one identity to one server: over HTTP/2 if an https server offers it, else over HTTP/1.1.
 *
 *     http:   HTTP/1.1
 *     https:  no connection ── connect, ALPN ──▶ h2: one session, and one more whenever none has room for a stream
 *                   ▲                      └───▶ http/1.1, or no ALPN: one connection for each request at a time
 *                   └──────── no connection is left ───────────────────────────────────────────────┘
 *
 * Requests that need a connection share one attempt. A server that ends sessions without an answer, or requests calm,
 * gets no new connection for 0.25 to 3 s: requests fail meanwhile.
 */
export class UpstreamAgent implements Connections {
  readonly #options: UpstreamAgentOptions;
  readonly #http1: Http1Connections;
  /** Sessions that are not closed, oldest first, so that further ones become idle and close. */
  readonly #sessions = new Set<Http2Session>();
  readonly #connecting = new SingleFlight<void>();
  readonly #calm: Backoff = createBackoff(CALM);
  /** No session is opened before this time; monotonic. */
  #calmUntil = 0;
  /** The connection that is being established. */
  #pending: Socket | undefined;
  #state: 'open' | 'closing' | 'destroyed' = 'open';

  constructor(options: UpstreamAgentOptions) {
    this.#options = options;
    this.#http1 = new Http1Connections(options);
  }

  /** Whether all connections are of HTTP/2, which find out by themselves whether they are alive. */
  get isSelfChecked(): boolean {
    return this.#options.server.protocol === 'https:' && !this.#http1.isInUse;
  }

  /** Resolves with the headers of the response. Rejects with `NoResponse` and errors of the network. */
  async request(request: AgentRequest): Promise<AgentResponse> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#send(request);
      } catch (error) {
        if (!(error instanceof Unprocessed)) throw error;
        if (attempt === MAX_ATTEMPTS || request.signal.aborted) throw error.cause;
      }
    }
  }

  close(): void {
    if (this.#state === 'open') this.#state = 'closing';
    this.#http1.close();
    for (const session of this.#sessions) session.close();
  }

  destroy(): void {
    this.#state = 'destroyed';
    this.#http1.destroy();
    this.#pending?.destroy();
    for (const session of this.#sessions) session.destroy();
  }

  async #send(request: AgentRequest): Promise<AgentResponse> {
    for (;;) {
      request.signal.throwIfAborted();
      if (this.#state === 'destroyed') throw new Error('the connections are closed');
      // In the same turn: another request would take the room.
      const response = this.#connections()?.request(request);
      if (response !== undefined) return await response;
      const connected = this.#connecting.run(() => this.#connect());
      await abortable(connected, request.signal);
    }
  }

  /** What the next request can be sent over now; undefined: nothing. */
  #connections(): Connections | undefined {
    if (this.#options.server.protocol === 'http:' || this.#http1.isInUse) return this.#http1;
    for (const session of this.#sessions) if (session.hasRoom) return session;
    return undefined;
  }

  async #connect(): Promise<void> {
    const wait = this.#calmUntil - performance.now();
    if (wait > 0) {
      const seconds = (wait / 1000).toFixed(1);
      throw new Error(`it ended the last connection early; the next one is opened in ${seconds} s`);
    }
    const { server, tls, times, onConnect } = this.#options;
    const onSocket = (socket: Socket): void => {
      this.#pending = socket;
      this.#options.onSocket(socket);
    };
    const socket = await connectTls(server, { tls, ms: times.connectMs, onSocket });
    if (socket.alpnProtocol === 'h2') await this.#startSession(socket);
    else this.#http1.adopt(socket);
    onConnect();
    // After the requests that wait for the connection have been sent.
    if (this.#state === 'closing') setImmediate(() => this.close());
  }

  async #startSession(socket: TLSSocket): Promise<void> {
    const { server, times, onPing, onDead } = this.#options;
    const onCalm = (): void => {
      this.#calmUntil = performance.now() + this.#calm.next();
    };
    const onEnd = (ended: Http2Session, inVain: boolean): void => {
      this.#sessions.delete(ended);
      if (inVain) onCalm();
      else if (performance.now() > this.#calmUntil) this.#calm.reset();
    };
    const handlers = { onPing, onDead, onCalm, onEnd };
    const session = await Http2Session.start({ server, socket, times, ...handlers });
    this.#sessions.add(session);
    if (session.hasRoom) return;
    session.close();
    throw new Error('it allows no HTTP/2 stream on a new connection');
  }
}
