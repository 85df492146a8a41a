import { constants } from 'node:http2';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
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
/** Idle connections of HTTP/1.1 that are kept for questions while requests are open; see {@link Agent}. */
const KEPT_IDLE = 1;
/** How often the bytes are counted in a quiet time. */
const LOOKS = 8;

/**
 * Sends requests of one identity to one server: over HTTP/2 if an https server offers it, else over HTTP/1.1 with a
 * connection for each request at a time.
 *
 * Requests share connections with room, the oldest first, so that further ones become idle and close. Until the
 * protocol is known, all wait for the first connection. A server that ends connections without an answer, or requests
 * calm, gets no new one for 0.25 to 3 s: requests fail meanwhile.
 *
 * **Silence.** A quiet watch and a dead connection look the same. The bytes of each connection are counted now and then,
 * because a clock read for each chunk costs more.
 * - Over HTTP/2 one that is silent for the quiet time gets a PING, and is dead without an answer in time: within 33 s,
 *   and at most 180 PINGs an hour.
 * - Over HTTP/1.1 nothing can be asked on the connection of a watch. So a connection that is as old is asked with
 *   `GET /version`: soon after a request has taken the last idle one, and then once in a quiet time while requests are
 *   open, at most 180 an hour. If
 *   something on the way has forgotten the old connections, there is no answer in time, and all that receive nothing
 *   meanwhile are dead: within 33 s. One idle connection, the oldest, is kept for that while requests are open.
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
  /** The first connection, while the protocol is not known, or one of HTTP/2. */
  #starting: Connection | undefined;
  #isHttp1: boolean;
  #state: 'open' | 'closing' | 'destroyed' = 'open';
  #timer: NodeJS.Timeout | undefined;
  /** Looks until the server is asked for a sign of life over HTTP/1.1. */
  #looksToQuestion = 0;

  constructor(options: AgentOptions) {
    this.#options = options;
    const { server, tls, quietMs = QUIET_MS } = options;
    this.#isHttp1 = server.protocol === 'http:';
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
        return await this.#send(request, KEPT_IDLE);
      } catch (error) {
        if (!(error instanceof Unprocessed)) throw error;
        if (attempt === MAX_ATTEMPTS || request.signal.aborted) throw error.cause;
      }
    }
  }

  /** Closes idle connections. Open requests end on theirs, which are then closed too. */
  close(): void {
    if (this.#state === 'open') this.#state = 'closing';
    for (const connection of this.#connections) this.#closeIfIdle(connection);
  }

  /** Destroys all connections, and so ends all requests. */
  destroy(): void {
    this.#state = 'destroyed';
    for (const connection of this.#connections) connection.destroy(closed());
  }

  /** @param kept number of idle connections that stay idle */
  async #send(request: AgentRequest, kept: number): Promise<AgentResponse> {
    for (;;) {
      request.signal.throwIfAborted();
      if (this.#state === 'destroyed') throw closed();
      // In the same turn: another request would take the room.
      const connection = this.#withRoom(kept) ?? (this.#starting ? undefined : this.#open());
      if (connection !== undefined) {
        const response = connection.request(request);
        // The next question would be asked on a connection that is younger than this one.
        if (kept > 0 && !this.#hasIdle) this.#looksToQuestion = 0;
        return await response;
      }
      await abortable((this.#starting as Connection).ready, request.signal);
    }
  }

  #withRoom(kept: number): Connection | undefined {
    const usable = [...this.#connections].filter(({ hasRoom }) => hasRoom);
    return usable[this.#isHttp1 && this.#isBusy ? kept : 0];
  }

  get #hasIdle(): boolean {
    return [...this.#connections].some(({ hasRoom }) => hasRoom);
  }

  get #isBusy(): boolean {
    return [...this.#connections].some(({ requests }) => requests > 0);
  }

  #open(): Connection {
    const wait = this.#calmUntil - performance.now();
    if (wait > 0) {
      const seconds = (wait / 1000).toFixed(1);
      throw new Error(`it ended the last connection early; the next one is opened in ${seconds} s`);
    }
    const { server, headersMs = HEADERS_MS } = this.#options;
    const connection = new Connection({
      server,
      headersMs,
      connect: this.#connect,
      onGoaway: (code) => {
        if (code === constants.NGHTTP2_ENHANCE_YOUR_CALM) this.#calmDown();
      },
      onIdle: (idle) => {
        if (this.#state === 'closing') this.#closeIfIdle(idle);
      },
      onClose: (ended) => this.#onClose(ended),
    });
    this.#connections.add(connection);
    this.#timer ??= setInterval(() => this.#look(), this.#lookMs).unref();
    if (!this.#isHttp1) this.#starting = connection;
    void this.#onStart(connection);
    return connection;
  }

  async #onStart(connection: Connection): Promise<void> {
    try {
      await connection.ready;
      this.#isHttp1 = !connection.isHttp2;
      this.#options.onConnect();
    } catch {
      // Its requests, and those that wait for it, have the error.
    } finally {
      if (this.#starting === connection) this.#starting = undefined;
    }
  }

  #onClose(ended: Connection): void {
    this.#connections.delete(ended);
    if (ended.wasInVain) this.#calmDown();
    else if (performance.now() > this.#calmUntil) this.#calm.reset();
    if (this.#connections.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #calmDown(): void {
    this.#calmUntil = performance.now() + this.#calm.next();
  }

  /** In the next turn, because a request may follow in this one. */
  #closeIfIdle(connection: Connection): void {
    setImmediate(() => {
      if (connection.requests === 0) connection.destroy(closed());
    });
  }

  #look(): void {
    const deadLooks = LOOKS + Math.ceil(this.#pingMs / this.#lookMs);
    const dead: Connection[] = [];
    for (const connection of this.#connections) {
      const silentLooks = connection.countSilence();
      if (!connection.isHttp2) continue;
      if (silentLooks >= deadLooks) dead.push(connection);
      else if (silentLooks === LOOKS) connection.ping(this.#options.onPing);
    }
    this.#end(dead);
    if (!this.#isHttp1 || !this.#isBusy) this.#looksToQuestion = 0;
    else if (this.#looksToQuestion-- === 0) void this.#askOverHttp1();
  }

  /** Ends the connections that receive nothing while `GET /version` is not answered in time. */
  async #askOverHttp1(): Promise<void> {
    this.#looksToQuestion = LOOKS - 1;
    const { server } = this.#options;
    const signal = AbortSignal.timeout(this.#pingMs);
    const request = createAgentRequest(server, { method: 'GET', path: '/version' }, {}, signal);
    const before = new Map([...this.#connections].map((each) => [each, each.bytesRead]));
    while (!signal.aborted) {
      try {
        const { body } = await this.#send(request, 0);
        body.resume();
        return;
      } catch {
        // It may have been refused; that says nothing about the others.
        await sleep(this.#lookMs, undefined, { signal, ref: false }).catch(() => {});
      }
    }
    this.#end([...this.#connections].filter((each) => each.bytesRead === before.get(each)));
  }

  #end(dead: readonly Connection[]): void {
    if (dead.length === 0) return;
    const { server, onDead } = this.#options;
    onDead(dead.reduce((sum, { requests }) => sum + requests, 0));
    for (const connection of dead) {
      this.#connections.delete(connection);
      const { silentMs } = connection;
      const problem = `the API server at ${server.host} has fallen silent: no byte within ${Math.round(silentMs / 1000)} s`;
      connection.destroy(new DeadConnection('Unreachable', problem, { silentMs }));
    }
  }
}

function closed(): Error {
  return new Error('the connections are closed');
}
