import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as afterPoll, setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { WrapperError } from '../errors.ts';
import { addressText } from './address.ts';
import { connectionRefusal, type DoorBounds, parserRefusal, refuseSocket } from './door-refusal.ts';
import { VerifiedBy } from './https-authorities.ts';
import type { ServerCertificate } from './https-certificate.ts';

/** Where a door is. */
export interface DoorAddress {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** A socket that listens already, inherited; then host and port are not used. */
  readonly fd?: number;
}

export interface DoorOptions {
  /** Name of the setting with its address, for messages. */
  readonly name: string;
  readonly address: DoorAddress;
  /** For https; absent: http. */
  readonly certificate?: ServerCertificate;
  readonly bounds: DoorBounds;
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  /** Absent: upgrades are refused. */
  readonly onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Throws for an inherited socket that may not be served: it was opened by somebody else. */
  readonly assertHost?: (host: string) => void;
  readonly logger: Logger;
}

/** Idle connections are kept longer than Go's 90 s, so that the client closes first and no request is lost. */
const KEEP_ALIVE_MS = 120_000;
/** How long an open connection may take to end after the door closes, in milliseconds. */
const CLOSE_MS = 2_000;
/** Turns of the event loop in which waiting connections are accepted before the socket closes, at most. */
const MAX_TURNS = 500;
/**
 * The socket closes after so many turns in a row without a new connection. Each turn that does other work leaves time
 * for one to come: after 3 turns four times as many are reset as after 20.
 */
const QUIET_TURNS = 20;
/** Connections beyond the bound that are told so; further ones are closed without a word. */
const TOLD = 32;

/**
 * A listening socket with its bounds, for http or https. Several processes of one user can share its port
 * (SO_REUSEPORT), so that the next one listens before the last one stops.
 */
export class Door {
  readonly #options: DoorOptions;
  readonly #server: Server;
  /** All that is accepted and open, over https from before the handshake. */
  readonly #sockets = new Set<Socket>();
  /** Connections that can carry requests, over https after the handshake; for each the answer being written. */
  readonly #connections = new Map<Duplex, ServerResponse | undefined>();
  readonly #surplus = new WeakSet<Duplex>();
  /** Connections with a request that waits for the answer to the one before. */
  readonly #queued = new WeakSet<Duplex>();
  readonly #unfollow: (() => void) | undefined;
  readonly #verifiedBy: VerifiedBy | undefined;
  #accepted = 0;
  #refused = 0;
  #closing = false;

  constructor(options: DoorOptions) {
    this.#options = options;
    const { bounds, certificate } = options;
    const common = {
      keepAliveTimeout: KEEP_ALIVE_MS,
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
    server.maxConnections = bounds.maxConnections + TOLD;
    this.#verifiedBy = certificate && new VerifiedBy(server, certificate);
    this.#unfollow = certificate?.onChange(() => {
      // setSecureContext throws for what cannot be used; the certificate has been checked.
      (server as unknown as { setSecureContext(options: object): void }).setSecureContext(
        certificate.options(),
      );
    });
    this.#attach();
  }

  /** Connections that are open, over https also those without a handshake yet. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** Connections that were refused because there were too many, since the start. */
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
        if (this.#server.listening) this.#options.logger.error({ err: cause }, message);
        reject(new WrapperError('InvalidSettings', message, { cause }));
      });
      this.#server.listen(fd === undefined ? { host, port, reusePort } : { fd }, resolve);
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
      // Node's own list lacks connections without a handshake and those that have switched protocols.
      for (const socket of this.#sockets) socket.destroy();
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
      const before = this.#accepted;
      // libuv accepts one connection in each turn of the loop.
      await afterPoll();
      quiet = this.#accepted === before ? quiet + 1 : 0;
    }
    stop();
  }

  #attach(): void {
    const { bounds, certificate, logger, name } = this.#options;
    const opened = certificate === undefined ? 'connection' : 'secureConnection';
    this.#server.on('connection', (socket: Socket) => {
      this.#accepted++;
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#server.on(opened, (socket: Socket) => this.#opened(socket));
    this.#server.on('drop', () => this.#refuse());
    this.#server.on('request', (request, response) => this.#requested(request, response));
    this.#server.on('upgrade', (request, socket, head) => {
      const { onUpgrade } = this.#options;
      socket.on('error', () => {});
      const current = this.#connections.get(socket);
      if (current?.writableEnded === false) refuseSocket(socket, pipelined(), current);
      else if (onUpgrade === undefined) refuseSocket(socket, noUpgrades());
      else onUpgrade(request, socket, head);
    });
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (!this.#connections.has(socket)) {
        // What is written before the end of a handshake waits for it, and so would the end of the connection.
        logger.debug({ door: name, err: error.message }, 'no handshake');
        socket.destroy();
        return;
      }
      const refusal = parserRefusal(error, bounds);
      logger.debug({ door: name, err: refusal.message }, 'refused');
      refuseSocket(socket, refusal, this.#connections.get(socket));
    });
  }

  #opened(socket: Duplex): void {
    this.#connections.set(socket, undefined);
    socket.once('close', () => this.#connections.delete(socket));
    const { maxConnections } = this.#options.bounds;
    if (this.#connections.size <= maxConnections) return;
    // Those that are idle cost their clients nothing.
    this.#server.closeIdleConnections();
    const alive = [...this.#connections.keys()].filter(({ destroyed }) => !destroyed).length;
    if (alive <= maxConnections) return;
    this.#surplus.add(socket);
    this.#refuse();
  }

  #refuse(): void {
    this.#refused++;
    // Once for each burst: whoever opens thousands shall not fill the log too.
    if (Math.log2(this.#refused) % 1 !== 0) return;
    const { bounds, logger, name } = this.#options;
    logger.warn(
      { door: name, refused: this.#refused, err: connectionRefusal(bounds).message },
      'refused',
    );
  }

  #requested(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    if (this.#surplus.has(socket)) {
      response.shouldKeepAlive = false;
      refuseSocket(socket, connectionRefusal(this.#options.bounds));
      return;
    }
    const start = (): void => {
      if (this.#closing) response.shouldKeepAlive = false;
      if (this.#connections.has(socket)) this.#connections.set(socket, response);
      if (this.#verifiedBy?.isOutdated(request) === true) refuseSocket(socket, outdated());
      else this.#options.onRequest(request, response);
    };
    const current = this.#connections.get(socket);
    if (current === undefined || current.closed) {
      start();
    } else if (this.#queued.has(socket)) {
      // One at a time, for the bound of connections is one of requests too.
      refuseSocket(socket, pipelined(), current);
    } else {
      // We may hear later than its client that an answer has been taken: the client may ask the next thing already.
      this.#queued.add(socket);
      current.once('close', () => {
        this.#queued.delete(socket);
        if (socket.writable) start();
      });
    }
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
