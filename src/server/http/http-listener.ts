import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { statusOf } from '../../client/api/status.ts';
import { WrapperError } from '../../errors.ts';
import { addressText, type ListenAddress } from '../../util/address.ts';
import { acceptPending } from './accept-pending.ts';
import { ClientConnections } from './client-connections.ts';
import type { RequestState } from './connection-table.ts';
import { fromParserError, respondAndDestroy, tooManyRequests } from './http-errors.ts';
import { createHttpServer } from './http-server.ts';
import type { ListenerCounter } from './listener-counter.ts';
import type { ListenerLimits } from './listener-limits.ts';
import { type RefusalLog, reasonOf } from './refusal-log.ts';
import { assertNoRequestSmuggling } from './request-checks.ts';
import type { ServerCertificate } from './server-certificate.ts';
import { startWriteTimeout, WRITE_TIMEOUT_MS } from './write-timeout.ts';

export interface HttpListenerOptions {
  /** Name of the setting that has the address, for messages. */
  readonly name: string;
  readonly address: ListenAddress;
  /** For https; absent: http. */
  readonly certificate?: ServerCertificate;
  readonly listenerLimits: ListenerLimits;
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  /** The kind of a request. Requests of one kind share a limit. Default: all requests have the same kind. */
  readonly kindOf?: (request: IncomingMessage) => string;
  /** Maximum number of active requests of each kind; default: `listenerLimits.maxConnections`. */
  readonly maxOfKind?: Readonly<Record<string, number>>;
  /** How long an idle connection is kept, in milliseconds; default 120,000. */
  readonly keepAliveMs?: number;
  /** How long a client may take to read the end of a response, in milliseconds; default 60,000. */
  readonly writeTimeoutMs?: number;
  /** Length of the accept queue; default 4,096. */
  readonly backlog?: number;
  readonly refusals: RefusalLog;
  /** Counts the requests by status code. */
  readonly requests: ListenerCounter;
}

/** Longer than Go's 90 s: the client closes an idle connection first, so no request is lost. */
const CLIENT_IDLE_MS = 120_000;
/**
 * Length of the accept queue; the kernel limits it to net.core.somaxconn. When the queue is full, the kernel drops
 * the packet that opens a connection, and the client tries again after a second.
 */
const BACKLOG = 4_096;
/** The code of a request whose client disconnected before the response began. */
const ABORTED = 'aborted';
/** The code of an answer that HTTP does not define: each one is a series of the metrics. */
const OTHER = 'other';
/** The reason of what is refused because of maxConnections. */
const TOO_MANY = 'TooManyConnections';
const TOO_EARLY = 'too many requests before the first one was answered';
/** How long an open connection may take to end after the listener has closed, in milliseconds. */
const CONNECTION_CLOSE_MS = 2_000;

/** The responses of one connection: one is written, and at most one waits for its end. */
interface ConnectionTurn {
  /** The current response, or the last one. */
  readonly current: ServerResponse;
  /** The response to the next request. */
  queued?: ServerResponse;
}

/**
 * One listening socket with its limits, for http or https. With `reusePort` processes of the same user can share its
 * port, so the next process can listen before the last one stops.
 *
 * The rest of this folder is what it needs: which connections are kept (connection-table.ts), how a request is
 * checked (request-checks.ts) and refused (http-errors.ts, refusal-log.ts), how a long response is written
 * (block-writer.ts), and the certificate (server-certificate.ts).
 */
export class HttpListener {
  readonly #options: HttpListenerOptions;
  readonly #server: Server;
  readonly #connections: ClientConnections;
  readonly #turns = new WeakMap<Duplex, ConnectionTurn>();
  #closing = false;

  constructor(options: HttpListenerOptions) {
    this.#options = options;
    const { listenerLimits, certificate, maxOfKind = {}, keepAliveMs = CLIENT_IDLE_MS } = options;
    const server = createHttpServer(listenerLimits, keepAliveMs, certificate);
    this.#server = server;
    const { maxConnections: maxRequests, maxWithoutRequest } = listenerLimits;
    const limits = { maxRequests, maxWithoutRequest, maxOfKind };
    this.#connections = new ClientConnections(server, certificate !== undefined, limits, () => {
      this.#report(TOO_MANY, 'a connection was closed for another (maxConnections)', 'warn');
    });
    server.on('request', (request, response) => this.#onRequest(request, response));
    // Without this, Node itself answers an Expect header with 417, past all limits and checks.
    server.on('checkExpectation', (request, response) => this.#onRequest(request, response));
    server.on('clientError', (error, socket) => this.#onClientError(error, socket));
  }

  /** Number of open connections. Over https this includes those without a handshake yet. */
  get connections(): number {
    return this.#connections.size;
  }

  /** Bytes sent to clients since the start; over https as they are encrypted. */
  get sentBytes(): number {
    return this.#connections.sentBytes;
  }

  /** Connections closed and requests refused since the start because there were too many. */
  get refused(): number {
    const { refusals, name } = this.#options;
    return refusals.counter.countOf(name, TOO_MANY);
  }

  /** Starts to listen; returns the URL. Rejects with `InvalidSettings` if the address cannot be used. */
  async listen(): Promise<string> {
    const { name, address, certificate, backlog = BACKLOG } = this.#options;
    const { host, port } = address;
    // The kernel could otherwise choose a port that another program has. Only Linux has it.
    const reusePort = address.reusePort === true && process.platform === 'linux' && port !== 0;
    await new Promise<void>((resolve, reject) => {
      this.#server.on('error', (cause: NodeJS.ErrnoException) => {
        const message = `cannot listen on ${addressText(address)} (${name}): ${cause.message}`;
        // While it listens, this is an error of one connection, such as too many open files.
        if (this.#server.listening) this.#report('AcceptFailed', message, 'error');
        reject(new WrapperError('InvalidSettings', message, { cause }));
      });
      this.#server.listen({ host, port, reusePort, backlog }, resolve);
    });
    const bound = this.#server.address();
    const found = typeof bound === 'object' && bound !== null ? bound : { address: host, port };
    const shown = addressText({ host: found.address, port: found.port });
    return `http${certificate === undefined ? '' : 's'}://${shown}`;
  }

  /**
   * Stops accepting connections, and closes. Until `drainMs` have passed, requests on open connections are still
   * answered, each with `connection: close`. Otherwise a request that a client is just writing would be lost.
   *
   * @param onStopped called as soon as no connection is accepted any more
   */
  async close(drainMs: number, onStopped: () => void): Promise<void> {
    this.#closing = true;
    // Not once() of node:events: it rejects on an error of one connection, such as too many open files.
    const closed = new Promise<void>((resolve) => this.#server.once('close', resolve));
    await acceptPending(() => this.#connections.accepted);
    // The close() of http would destroy idle connections immediately.
    NetServer.prototype.close.call(this.#server);
    onStopped();
    const drained = new AbortController();
    void closed.then(() => drained.abort());
    await delay(drainMs, undefined, { signal: drained.signal }).catch(() => undefined);
    // Also stops the timer that looks for slow requests.
    this.#server.close(() => {});
    const force = setTimeout(() => {
      this.#connections.destroyAll();
    }, CONNECTION_CLOSE_MS);
    await closed;
    clearTimeout(force);
  }

  #onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (this.#connections.acceptedSocket(socket) === undefined) {
      const isGone = error.code === 'ECONNRESET';
      if (!isGone) this.#report('TlsHandshake', `no TLS handshake: ${error.message}`);
      // A write, and so the end of the connection, would wait for the end of the handshake.
      socket.destroy();
      return;
    }
    // The last response has been written: the rest is dropped. A client that disconnects is not a refusal.
    if (socket.writableEnded) return;
    if (error.code === 'ECONNRESET' || error.code === 'EPIPE') socket.destroy();
    else this.#refuseSocket(socket, fromParserError(error, this.#options.listenerLimits));
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    // The request before it was refused, which ends the connection.
    if (socket.writableEnded) return;
    const turn = this.#turns.get(socket);
    if (turn === undefined || turn.current.closed) {
      this.#start(request, response);
    } else if (turn.queued === undefined) {
      // The client can send its next request before we are notified that it has read the response.
      turn.queued = response;
      turn.current.once('close', () => {
        if (socket.writable) this.#start(request, response);
      });
    } else {
      // One request at a time: the limit of connections is also the limit of requests. The next response ends the
      // connection, so that the client repeats the others on another one (RFC 9112, section 9.3.2).
      if (turn.queued.shouldKeepAlive) this.#report('BadRequest', TOO_EARLY);
      turn.queued.shouldKeepAlive = false;
      // Node.js keeps a response for each request that it parses, and reads on after each request: pause after it has.
      queueMicrotask(() => socket.pause());
    }
  }

  #start(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    try {
      assertNoRequestSmuggling(request);
      this.#begin(request, {
        isReceived: () => request.complete,
        isAnswered: () => response.writableEnded || socket.writableEnded,
      });
    } catch (error) {
      this.#refuseSocket(socket, error, request);
      return;
    }
    if (this.#closing) response.shouldKeepAlive = false;
    this.#turns.set(socket, { current: response });
    response.once('close', () => {
      this.#connections.end(socket);
      // A refusal may be written to the socket itself, with the status in the response object.
      const isAnswered = response.headersSent || response.statusCode !== 200;
      this.#count(isAnswered ? response.statusCode : ABORTED);
    });
    response.once('prefinish', () => this.#limitWrite(response));
    this.#options.onRequest(request, response);
  }

  /** Marks the connection as in use. Throws `LimitExceeded` if too many are in use. */
  #begin(request: IncomingMessage, progress: Omit<RequestState, 'kind'>): void {
    const { listenerLimits, kindOf, maxOfKind } = this.#options;
    const kind = kindOf?.(request) ?? '';
    if (this.#connections.begin(request.socket, { ...progress, kind })) return;
    throw tooManyRequests(listenerLimits, maxOfKind?.[kind]);
  }

  /** Disconnects a client that does not read the end of its response. */
  #limitWrite(response: ServerResponse): void {
    // The client has already disconnected.
    if (response.closed || response.destroyed) return;
    const { writeTimeoutMs = WRITE_TIMEOUT_MS } = this.#options;
    const onTimeout = (): void =>
      this.#report('WriteTimeout', 'a client has not read the end of its response');
    const timer = startWriteTimeout(response, { writeTimeoutMs, onTimeout });
    response.once('close', () => clearTimeout(timer));
  }

  #refuseSocket(socket: Duplex, error: unknown, request?: IncomingMessage): void {
    const { code, message } = WrapperError.from(error, 'BadRequest');
    const resource = request?.url;
    if (code === 'LimitExceeded' && request) this.#report(TOO_MANY, message, 'warn', resource);
    else this.#report(reasonOf(error), message, 'info', resource);
    this.#count(statusOf(error).code);
    respondAndDestroy(socket, error, this.#turns.get(socket)?.current);
    request?.resume();
  }

  /** Counts a request whose response has ended. A watch ends with its stream. */
  #count(code: number | typeof ABORTED): void {
    // What is forwarded may be answered by a Pod, with any code.
    const word = code === ABORTED || STATUS_CODES[code] !== undefined ? String(code) : OTHER;
    this.#options.requests.count(this.#options.name, word);
  }

  #report(
    reason: string,
    message: string,
    level: 'info' | 'warn' | 'error' = 'info',
    resource?: string,
  ): void {
    this.#options.refusals.report({
      listener: this.#options.name,
      reason,
      message,
      level,
      resource,
    });
  }
}
