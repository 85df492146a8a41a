import { constants } from 'node:http2';
import type { Socket } from 'node:net';
import createConnector from 'undici/lib/core/connect.js';
import { WrapperError } from '../../errors.ts';
import { type Backoff, createBackoff } from '../../util/backoff.ts';
import { abortable } from '../../util/linked-abort-controller.ts';
import type { TlsOptions } from '../credentials/credentials.ts';
import { ADDRESSING } from '../util/dns-lookup.ts';
import { type Connect, Connection } from './connection.ts';
import {
  type AgentRequest,
  type AgentResponse,
  createAgentRequest,
  Unprocessed,
} from './exchange.ts';

export interface AgentOptions {
  readonly server: URL;
  readonly tls: TlsOptions;
  /** Time limit for the start of a response, in milliseconds; default 40,000. */
  readonly headersMs?: number | undefined;
  /** After this time without a byte the server is asked for a sign of life, in milliseconds; default 20,000. */
  readonly quietMs?: number | undefined;
  /** Called with each socket, before it is connected. */
  readonly onSocket: (socket: Socket) => void;
  /** Called whenever a connection is established. */
  readonly onConnect: () => void;
  /** Called when the server has answered a PING over HTTP/2. */
  readonly onPing: () => void;
  /** Called when connections are found dead, with the number of their requests. */
  readonly onDead: (requests: number) => void;
}

/** A connection has fallen silent. The server may be well, and answer on a new connection. */
export class DeadConnection extends WrapperError {}

/**
 * Time limit for the start of a response, in milliseconds. It is longer than the 33 s in which a dead connection is
 * found. What ends here is one request that hangs at a server that answers others.
 */
const HEADERS_MS = 40_000;
/** Client-go has 30 s and 15 s. */
const QUIET_MS = 20_000;
/** Time limit for the answer to a PING or a question, in milliseconds; at most the quiet time. */
const PING_MS = 10_000;
/**
 * A quiet connection is probed by TCP keep-alive after this time, in milliseconds. libuv sends 10 probes, 1 s apart,
 * so a peer that is gone is noticed after 25 s.
 */
const KEEP_ALIVE_MS = 15_000;
/** A request that was not processed is sent so many times at most. */
const MAX_ATTEMPTS = 4;
/** How long the server is left alone after a connection that was of no use, in milliseconds. */
const CALM = { baseMs: 500, maxMs: 3_000 };
/** How often the bytes are counted in a quiet time. */
const LOOKS = 8;

/**
 * Sends requests of one identity to one server: over HTTP/2 if an https server offers it, else over HTTP/1.1 with a
 * connection for each request at a time.
 *
 * Requests share connections with room, the oldest first, so that further ones become idle and close. All wait for the
 * first connection until the protocol is known. A server that ends connections without an answer, or requests
 * calm, gets no new one for 0.25 to 3 s: requests fail meanwhile.
 *
 * **Silence.** A quiet watch and a dead connection look the same. The bytes of each connection are counted now and then,
 * because a clock read for each chunk costs more. Looks are counted, not time: after a turn of the event loop that took
 * long, bytes that have arrived meanwhile are read before the next look.
 * - Over HTTP/2 a connection that is silent for the quiet time gets a PING, and is dead without an answer in time: within
 *   33 s, and at most 180 PINGs an hour.
 * - Over HTTP/1.1 nothing can be asked on the connection of a watch. One connection is there for questions only
 *   (`GET /version`), and gets them as an HTTP/2 one gets PINGs while requests are open. It is opened before the
 *   connections of requests, which wait for it: if something on the way forgets them, it has forgotten this one too.
 *   If it is dead, all that have received nothing since the question are. The server must keep an idle connection for
 *   longer than the quiet time, as kube-apiserver does (90 s).
 */
export class Agent {
  readonly #options: AgentOptions;
  readonly #connect: Connect;
  readonly #lookMs: number;
  readonly #pingMs: number;
  readonly #connections = new Set<Connection>();
  readonly #calm: Backoff = createBackoff(CALM);
  /** No connection is opened before this time; monotonic. */
  #calmUntil = 0;
  /** The connection that requests wait for. */
  #starting: Connection | undefined;
  /** The connection for questions over HTTP/1.1. */
  #questioner: Connection | undefined;
  #isHttp1 = false;
  #state: 'open' | 'closing' | 'destroyed' = 'open';
  #timer: NodeJS.Timeout | undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    const { tls, quietMs = QUIET_MS } = options;
    this.#lookMs = quietMs / LOOKS;
    this.#pingMs = Math.min(PING_MS, quietMs);
    const connect = createConnector({
      ...ADDRESSING,
      ...tls,
      // Each connection checks the server again.
      maxCachedSessions: 0,
      preferH2: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
      // That of a Connection includes more.
      timeout: 0,
    });
    this.#connect = (...args) => {
      const socket = connect(...args);
      options.onSocket(socket);
      return socket;
    };
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

  /** Closes idle connections. Open requests end on theirs, which are then closed too. */
  close(): void {
    if (this.#state === 'open') this.#state = 'closing';
    this.#closeUnused();
  }

  /** Destroys all connections, and so ends all requests. */
  destroy(): void {
    this.#state = 'destroyed';
    for (const connection of this.#connections) connection.destroy(closed());
  }

  async #send(request: AgentRequest): Promise<AgentResponse> {
    for (;;) {
      request.signal.throwIfAborted();
      if (this.#state === 'destroyed') throw closed();
      // In the same turn: another request would take the room.
      const connection = this.#withRoom() ?? this.#openNext();
      if (connection !== undefined) return await connection.request(request);
      await abortable((this.#starting as Connection).ready, request.signal);
    }
  }

  #withRoom(): Connection | undefined {
    return [...this.#connections].find((each) => each.hasRoom && each !== this.#questioner);
  }

  get #isBusy(): boolean {
    return [...this.#connections].some((each) => each.requests > 0 && each !== this.#questioner);
  }

  /** Opens a connection for a request; undefined: it has to wait for the one that is starting. */
  #openNext(): Connection | undefined {
    const wait = this.#calmUntil - performance.now();
    if (wait > 0) {
      const seconds = (wait / 1000).toFixed(1);
      throw new Error(`it ended the last connection early; the next one is opened in ${seconds} s`);
    }
    if (this.#starting !== undefined) return undefined;
    if (this.#isHttp1 && this.#questioner !== undefined) return this.#open();
    if (this.#isHttp1) {
      this.#openQuestioner();
      return undefined;
    }
    this.#starting = this.#open();
    return this.#starting;
  }

  #openQuestioner(): void {
    this.#questioner = this.#open();
    this.#starting = this.#questioner;
    void this.#ask(this.#questioner);
  }

  #open(): Connection {
    const { server, headersMs = HEADERS_MS } = this.#options;
    const connection = new Connection({
      server,
      headersMs,
      connect: this.#connect,
      onGoaway: (code) => {
        if (code === constants.NGHTTP2_ENHANCE_YOUR_CALM) this.#calmDown();
      },
      onIdle: () => {
        if (this.#state === 'closing') this.#closeUnused();
      },
      onClose: (ended) => this.#onClose(ended),
    });
    this.#connections.add(connection);
    this.#timer ??= setInterval(() => this.#look(), this.#lookMs).unref();
    void this.#onStart(connection);
    return connection;
  }

  async #onStart(connection: Connection): Promise<void> {
    try {
      await connection.ready;
      this.#isHttp1 = !connection.isHttp2;
      if (connection.isHttp2) this.#questioner = undefined;
      this.#options.onConnect();
    } catch {
      // Its requests, and those that wait for it, have the error.
    } finally {
      if (this.#starting === connection) this.#starting = undefined;
    }
  }

  #onClose(ended: Connection): void {
    this.#forget(ended);
    if (ended.wasInVain) this.#calmDown();
    else if (performance.now() > this.#calmUntil) this.#calm.reset();
    if (this.#connections.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #calmDown(): void {
    this.#calmUntil = performance.now() + this.#calm.next();
  }

  #forget(connection: Connection): void {
    this.#connections.delete(connection);
    if (connection === this.#questioner) this.#questioner = undefined;
  }

  /** Closes the connections that no request needs, in the next turn, because a request may follow in this one. */
  #closeUnused(): void {
    setImmediate(() => {
      for (const connection of this.#connections) {
        const isNeeded = connection === this.#questioner && this.#isBusy;
        if (connection.requests === 0 && !isNeeded) connection.destroy(closed());
      }
    });
  }

  #look(): void {
    const isBusy = this.#isBusy;
    const connections = [...this.#connections];
    for (const connection of connections) connection.countSilence(connection.isHttp2 || isBusy);
    const answerLooks = Math.ceil(this.#pingMs / this.#lookMs);
    const isDead = (connection: Connection): boolean =>
      connection.silentLooks >= LOOKS + answerLooks;
    if (this.#questioner !== undefined && isDead(this.#questioner)) {
      this.#end(connections.filter(({ silentLooks }) => silentLooks >= answerLooks));
    } else {
      this.#end(connections.filter((each) => each.isHttp2 && isDead(each)));
    }
    for (const connection of connections) {
      if (connection.silentLooks === LOOKS) void this.#ask(connection);
    }
    if (this.#isHttp1 && isBusy && this.#questioner === undefined) this.#openQuestioner();
  }

  /** Asks the server for a sign of life, if that can be done on the connection. */
  async #ask(connection: Connection): Promise<void> {
    if (connection.isHttp2) {
      connection.ping(this.#options.onPing);
    } else if (connection === this.#questioner && connection.requests === 0) {
      const { server } = this.#options;
      const { signal } = new AbortController();
      const request = createAgentRequest(server, { method: 'GET', path: '/version' }, {}, signal);
      try {
        const { body } = await connection.request(request);
        body.resume();
      } catch {
        // It may have been refused, which says nothing about the others.
      }
    }
  }

  #end(dead: readonly Connection[]): void {
    if (dead.length === 0) return;
    const { server, onDead } = this.#options;
    const others = dead.filter((connection) => connection !== this.#questioner);
    onDead(others.reduce((sum, { requests }) => sum + requests, 0));
    for (const connection of dead) {
      this.#forget(connection);
      const { silentMs } = connection;
      const problem = `the API server at ${server.host} has fallen silent: no byte within ${Math.round(silentMs / 1000)} s`;
      connection.destroy(new DeadConnection('Unreachable', problem, { silentMs }));
    }
  }
}

function closed(): Error {
  return new Error('the connections are closed');
}
