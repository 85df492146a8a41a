import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as afterPoll, setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { addressText } from '../util/address.ts';
import { VerifiedBy } from './client-authorities.ts';
import { ClientConnections } from './client-connections.ts';
import type { RequestState } from './connection-table.ts';
import {
  fromParserError,
  type ListenerLimits,
  respondAndDestroy,
  tooManyRequests,
} from './http-errors.ts';
import { RefusalLog, reasonOf } from './refusal-log.ts';
import { assertNoRequestSmuggling } from './request-checks.ts';
import type { ServerCertificate } from './server-certificate.ts';

/** Where a door is. */
export interface ListenAddress {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** A socket that listens already, inherited; then host and port are not used. */
  readonly fd?: number;
}

export interface HttpListenerOptions {
  /** Name of the setting with its address, for messages. */
  readonly name: string;
  readonly address: ListenAddress;
  /** For https; absent: http. */
  readonly certificate?: ServerCertificate;
  readonly bounds: ListenerLimits;
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  /** Absent: upgrades are refused. */
  readonly onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Throws for an inherited socket that may not be served: it was opened by somebody else. */
  readonly assertHost?: (host: string) => void;
  /** The kind of a request; requests of one kind share a bound. Default: all are of one. */
  readonly kindOf?: (request: IncomingMessage) => string;
  /** Requests of a kind that may be under way; default: as many as `bounds.maxConnections`. */
  readonly maxOfKind?: Readonly<Record<string, number>>;
  /** How long an idle connection is kept, in milliseconds; default 120,000. */
  readonly keepAliveMs?: number;
  /** How long a client may take to read the end of an answer, in milliseconds; default 60,000. */
  readonly writeTimeoutMs?: number;
  /** Logs and counts what is refused; default: one of its own. */
  readonly refusals?: RefusalLog;
  readonly logger: Logger;
}

/** Idle connections are kept longer than Go's 90 s, so that the client closes first and no request is lost. */
const KEEP_ALIVE_MS = 120_000;
const WRITE_TIMEOUT_MS = 60_000;
/**
 * Connections that the kernel may keep until they are accepted; it cuts this to net.core.somaxconn. When there
 * are more it drops the packet that opens one, and the client tries again only after a second.
 */
const BACKLOG = 4_096;
/** How long an open connection may take to end after the door closes, in milliseconds. */
const CLOSE_MS = 2_000;
/** Turns of the event loop in which waiting connections are accepted before the socket closes, at most. */
const MAX_TURNS = 500;
/**
 * The socket closes after so many turns in a row without a new connection. Each turn that does other work leaves time
 * for one to come: after 3 turns four times as many are reset as after 20.
 */
const QUIET_TURNS = 20;

/**
 * A listening socket with its bounds, for http or https. Several processes of one user can share its port
 * (SO_REUSEPORT), so that the next one listens before the last one stops.
 */
export class HttpListener {
  readonly #options: HttpListenerOptions;
  readonly #server: Server;
  /** Logs and counts what is refused. */
  readonly refusals: RefusalLog;
  readonly #connections: ClientConnections;
  /** The answer that is being written on a connection, or was the last one. */
  readonly #answers = new WeakMap<Duplex, ServerResponse>();
  /** Connections with a request that waits for the answer to the one before. */
  readonly #queued = new WeakSet<Duplex>();
  readonly #unfollow: (() => void) | undefined;
  readonly #verifiedBy: VerifiedBy | undefined;
  #refused = 0;
  #closing = false;

  constructor(options: HttpListenerOptions) {
    this.#options = options;
    const { bounds, certificate, maxOfKind = {} } = options;
    this.refusals = options.refusals ?? new RefusalLog(options.logger);
    const common = {
      keepAliveTimeout: options.keepAliveMs ?? KEEP_ALIVE_MS,
      maxHeaderSize: bounds.maxHeaderBytes,
      headersTimeout: bounds.headersTimeoutMs,
      requestTimeout: bounds.requestTimeoutMs,
      connectionsCheckingInterval: Math.min(5_000, bounds.headersTimeoutMs / 2),
      insecureHTTPParser: false,
    };
    this.#server =
      certificate === undefined
        ? createServer(common)
        : createTlsServer({
            ...common,
            ...certificate.options(),
            handshakeTimeout: bounds.headersTimeoutMs,
          });
    const server = this.#server;
    // Headers beyond a number would be dropped without a word; their bytes are bounded.
    server.maxHeadersCount = 0;
    this.#verifiedBy = certificate && new VerifiedBy(server, certificate);
    this.#unfollow = certificate?.onChange(() => {
      // setSecureContext throws for what cannot be used; the certificate has been checked.
      (server as unknown as { setSecureContext(options: object): void }).setSecureContext(
        certificate.options(),
      );
    });
    const limits = { maxRequests: bounds.maxConnections, maxOfKind };
    this.#connections = new ClientConnections(server, certificate !== undefined, limits, () => {
      this.#refuse('TooManyConnections', 'a connection was closed for another (maxConnections)');
    });
    server.on('request', (request, response) => this.#requested(request, response));
    server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
    server.on('clientError', (error, socket) => this.#clientError(error, socket));
  }

  /** Connections that are open, over https also those without a handshake yet. */
  get connections(): number {
    return this.#connections.size;
  }

  /** Connections that were closed, or requests that were refused, because there were too many; since the start. */
  get refused(): number {
    return this.#refused;
  }

  /** Starts to listen; returns the URL. Rejects with `InvalidSettings` when the address cannot be had. */
  async listen(): Promise<string> {
    const { name, address, assertHost, certificate } = this.#options;
    const { host, port, fd } = address;
    // Another program may have a port of which any will do; the kernel finds a free one only without it.
    const reusePort = process.platform === 'linux' && port !== 0;
    await new Promise<void>((resolve, reject) => {
      this.#server.on('error', (cause) => {
        const where = fd === undefined ? `${host}:${port}` : `inherited socket ${fd}`;
        const message = `cannot listen on ${where} (${name}): ${cause.message}`;
        // After it has listened this is an error of one connection, e.g. too many open files.
        if (this.#server.listening) this.#record('AcceptFailed', message, 'error');
        reject(new WrapperError('InvalidSettings', message, { cause }));
      });
      const where = fd === undefined ? { host, port, reusePort } : { fd };
      this.#server.listen({ ...where, backlog: BACKLOG }, resolve);
    });
    const bound = this.#server.address();
    const found = typeof bound === 'object' && bound !== null ? bound : { address: host, port };
    assertHost?.(found.address);
    const shown = addressText({ host: found.address, port: found.port });
    return `http${certificate === undefined ? '' : 's'}://${shown}`;
  }

  /**
   * Stops to accept, and ends. Until `drainMs` have passed, requests on connections that are open are still
   * answered, with the word that the connection ends: closed under a client that is just writing one, it
   * would be lost. `ended` is called as soon as nothing is accepted any more.
   */
  async close(drainMs: number, ended: () => void): Promise<void> {
    this.#closing = true;
    this.#unfollow?.();
    // Not once() of node:events, which rejects on an error of one connection, e.g. too many open files.
    const closed = new Promise<void>((resolve) => this.#server.once('close', resolve));
    // The close() of http would destroy idle connections at once.
    await this.#acceptAll(() => NetServer.prototype.close.call(this.#server));
    ended();
    const drained = new AbortController();
    void closed.then(() => drained.abort());
    await delay(drainMs, undefined, { signal: drained.signal }).catch(() => undefined);
    // Also ends the timer that looks for slow requests.
    this.#server.close(() => {});
    const force = setTimeout(() => {
      this.#connections.destroyAll();
    }, CLOSE_MS);
    await closed;
    clearTimeout(force);
  }

  /**
   * Accepts the connections that wait in the socket, then calls back to close it. The kernel resets a connection
   * that still waits then: one that came since the last poll, some ten microseconds ago.
   */
  async #acceptAll(stop: () => void): Promise<void> {
    for (let turn = 0, quiet = 0; turn < MAX_TURNS && quiet < QUIET_TURNS; turn++) {
      const before = this.#connections.accepted;
      // libuv accepts one connection in each turn of the loop.
      await afterPoll();
      quiet = this.#connections.accepted === before ? quiet + 1 : 0;
    }
    stop();
  }

  #clientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (!this.#connections.isEstablished(socket)) {
      const isGone = error.code === 'ECONNRESET';
      if (!isGone) this.#record('TlsHandshake', `no TLS handshake: ${error.message}`);
      // What is written before the end of a handshake waits for it, and so would the end of the connection.
      socket.destroy();
      return;
    }
    // After the last answer what comes is dropped. A client that only went away was refused nothing.
    if (socket.writableEnded) return;
    if (error.code === 'ECONNRESET' || error.code === 'EPIPE') socket.destroy();
    else this.#refuseSocket(socket, fromParserError(error, this.#options.bounds));
  }

  #requested(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    // It came behind a request whose refusal ends the connection.
    if (socket.writableEnded) return;
    const current = this.#answers.get(socket);
    if (current === undefined || current.closed) {
      this.#start(request, response);
    } else if (this.#queued.has(socket)) {
      // One at a time, for the bound of connections is one of requests too.
      this.#refuseSocket(socket, pipelined());
    } else {
      // We may hear later than its client that an answer has been taken: the client may ask the next thing already.
      this.#queued.add(socket);
      current.once('close', () => {
        this.#queued.delete(socket);
        if (socket.writable) this.#start(request, response);
      });
    }
  }

  #start(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    try {
      assertNoRequestSmuggling(request);
      if (this.#verifiedBy?.isOutdated(request) === true) throw outdated();
      this.#begin(request, {
        isReceived: () => request.complete,
        isAnswered: () => response.writableEnded || socket.writableEnded,
      });
    } catch (error) {
      this.#refuseSocket(socket, error, request);
      return;
    }
    if (this.#closing) response.shouldKeepAlive = false;
    this.#answers.set(socket, response);
    response.once('close', () => this.#connections.end(socket));
    response.once('prefinish', () => this.#limitWrite(response));
    this.#options.onRequest(request, response);
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { onUpgrade } = this.#options;
    socket.on('error', () => {});
    if (socket.writableEnded) return;
    const current = this.#answers.get(socket);
    try {
      if (current?.writableEnded === false) throw pipelined();
      if (onUpgrade === undefined) throw noUpgrades();
      assertNoRequestSmuggling(request);
      this.#begin(request, { isReceived: () => true, isAnswered: () => socket.writableEnded });
    } catch (error) {
      this.#refuseSocket(socket, error, request);
      return;
    }
    onUpgrade(request, socket, head);
  }

  /** Takes a connection into use. Throws `LimitExceeded` when too many are. */
  #begin(request: IncomingMessage, progress: Omit<RequestState, 'kind'>): void {
    const { bounds, kindOf, maxOfKind } = this.#options;
    const kind = kindOf?.(request) ?? '';
    if (this.#connections.begin(request.socket, { ...progress, kind })) return;
    throw tooManyRequests(bounds, maxOfKind?.[kind]);
  }

  /** A client that does not read the end of its answer is given up. */
  #limitWrite(response: ServerResponse): void {
    // Its client is gone already.
    if (response.closed || response.destroyed) return;
    const { writeTimeoutMs = WRITE_TIMEOUT_MS } = this.#options;
    const timer = setTimeout(() => {
      this.#record('WriteTimeout', 'a client has not read the end of its answer');
      response.destroy();
    }, writeTimeoutMs);
    response.once('close', () => clearTimeout(timer));
  }

  #refuseSocket(socket: Duplex, error: unknown, request?: IncomingMessage): void {
    const { code, message } = WrapperError.from(error, 'BadRequest');
    const resource = request?.url;
    if (code === 'LimitExceeded' && request) this.#refuse('TooManyRequests', message, resource);
    else this.#record(reasonOf(error), message, 'info', resource);
    respondAndDestroy(socket, error, this.#answers.get(socket));
    request?.resume();
  }

  /** Because of maxConnections. */
  #refuse(reason: string, message: string, resource?: string): void {
    this.#refused++;
    this.#record(reason, message, 'warn', resource);
  }

  #record(
    reason: string,
    message: string,
    level: 'info' | 'warn' | 'error' = 'info',
    resource?: string,
  ): void {
    this.refusals.record({ listener: this.#options.name, reason, message, level, resource });
  }
}

function pipelined(): WrapperError {
  return new WrapperError('BadRequest', 'too many requests before the first one was answered');
}

function outdated(): WrapperError {
  const message = 'the authorities of client certificates have changed: connect again';
  return new WrapperError('Unauthorized', message);
}

function noUpgrades(): WrapperError {
  return new WrapperError('Forbidden', 'protocols are not switched here');
}
