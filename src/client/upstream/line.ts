import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Logger } from 'pino';
import { type buildConnector, Client, type Dispatcher, Pool } from 'undici';
import { WrapperError } from '../../errors.ts';
import { abortable } from '../../util/linked-abort-controller.ts';
import type { TlsOptions } from '../credentials/credentials.ts';
import { ADDRESSING } from '../system/dns-lookup.ts';
import type { OpenSockets } from '../system/open-sockets.ts';
import { Reconnects } from './reconnects.ts';
import type { ServerState } from './server-state.ts';
import { addressOf } from './upstream-error.ts';

export interface LineOptions {
  readonly server: URL;
  readonly tls: TlsOptions;
  /** A PING is sent each time this has passed, in milliseconds; default 15,000. */
  readonly quietMs?: number | undefined;
  /** A relay is near, so a dead relay is noticed sooner. */
  readonly isRelay?: boolean;
  /** Gets each socket. */
  readonly sockets: Pick<OpenSockets, 'add'>;
  /** Notified of each connection, and of bytes. */
  readonly serverState: Pick<ServerState, 'reportContact' | 'reportBytes'>;
  readonly logger: Logger;
}

/**
 * The first connection of a pool is being opened, for one request. All others wait until undici can send them on the
 * same connection: over HTTP/2 once the server's SETTINGS are there. Before that it would open another one for them.
 *
 *   connecting ──connect, HTTP/2──▶ settling ──drain──▶ open
 *     │   └──────connect, HTTP/1.1─────────────────────▶ open
 *     └──────────connectionError──▶ failed
 *
 * A connection that is lost while it settles drains, too, or is opened again for what undici repeats.
 */
interface Opening extends PromiseWithResolvers<void> {
  isSettling: boolean;
}

/** No connection was established. */
export class NoConnection extends Error {}

const QUIET_MS = 15_000;
/** Time limit for the answer to a PING, in milliseconds; at most the quiet time. */
const ANSWER_MS = 10_000;
/** How often the bytes are counted in a quiet time. */
const CHECKS = 8;
/**
 * Time limit for a connection, TLS included, in milliseconds. A relay may be busy with the handshakes of its whole
 * site: it is near and alive if its kernel has accepted the connection in time ({@link RELAY_ACCEPT_MS}).
 */
const CONNECT_MS = 5_000;
const RELAY_CONNECT_MS = 15_000;
/**
 * A quiet connection is probed by TCP keep-alive after this time, in milliseconds. libuv sends 10 probes, 1 s apart, so
 * a peer that is gone is noticed after 25 s.
 */
const KEEP_ALIVE_MS = 15_000;
/** The same for a relay, and how long its kernel may take to accept a connection, in milliseconds. */
const RELAY_KEEP_ALIVE_MS = 1_000;
const RELAY_ACCEPT_MS = 2_000;
/** Idle connections end before an apiserver ends them (90 s), so that none is used while it is being closed. */
export const IDLE_MS = 60_000;
/** Streams on one connection, if the server allows as many. */
const MAX_STREAMS = 1_000;

const CLIENT_OPTIONS = {
  // Upstream limits the wait for headers sooner. This one ends a connection whose server allows no stream.
  headersTimeout: 60_000,
  // A quiet watch has no limit.
  bodyTimeout: 0,
  keepAliveTimeout: IDLE_MS,
  keepAliveMaxTimeout: IDLE_MS,
  // With the default of 1, a request that a GOAWAY refuses waits until the streams before it have ended.
  pipelining: MAX_STREAMS,
  maxConcurrentStreams: MAX_STREAMS,
  // What the server may send before we have read. 16 MB over a round trip of 100 ms take 0.4 s; with 64 KB 26 s. It is
  // also the most that is kept for a reader that is slow.
  initialWindowSize: 4 << 20,
  // Node gives it back as soon as bytes arrive, so that a slow reader does not hold up the other streams.
  connectionWindowSize: 8 << 20,
} as const;

/**
 * The line of one identity to one server: one connection over HTTP/2, and more if the server allows fewer streams. Over
 * HTTP/1.1, if an https server offers nothing else, one for each request at a time. undici reconnects, and sends again
 * what a server has verifiably not processed (GOAWAY, REFUSED_STREAM), once.
 *
 * - **GOAWAY.** While streams go on, requests from then on get a new Pool. The old one is closed, which lets its
 *   streams end. undici confuses streams if a Client reconnects while old ones are open, so a Client may reconnect
 *   once.
 * - **Silence.** A quiet watch and a dead connection look the same. Over HTTP/2 the server is sent PINGs. A connection
 *   on which nothing arrives for the quiet time and {@link ANSWER_MS} more is ended. The limit counts checks of
 *   `bytesRead`, so that a blocked event loop does not look like a dead connection. After a GOAWAY no PING is sent
 *   (node:http2), and silence shows nothing: TCP keep-alive finds a dead path, as over HTTP/1.1.
 * - **A reset that a write finds.** If another write follows in that turn, Node 24 leaves the TLS connection open for
 *   ever, and reads nothing from it. This is rare, and only the check for silence ends such a connection.
 * - **A body that breaks off.** One that the server cancels (RST_STREAM), or whose connection is reset after a GOAWAY,
 *   ends as if it were complete. Readers notice: a list or a Status then does not decode, and a watch has ended.
 */
export class Line {
  readonly #options: LineOptions;
  #pool: Pool;
  #isHttp1 = false;
  #opening: Opening | undefined;

  constructor(options: LineOptions) {
    this.#options = options;
    this.#pool = this.#createPool();
  }

  /** Its URL. */
  get server(): string {
    return this.#options.server.href;
  }

  /** Whether it has a connection, TLS included. */
  get isConnected(): boolean {
    return this.#pool.stats.connected > 0;
  }

  /** Resolves with the headers of the response. Rejects with {@link NoConnection} and errors of the network. */
  async request(
    request: Dispatcher.RequestOptions & { readonly signal: AbortSignal },
  ): Promise<Dispatcher.ResponseData> {
    if (this.#opening !== undefined) {
      // A failure ends all of them. The pool would try again for each.
      await abortable(this.#opening.promise, request.signal);
    } else if (!this.#isHttp1 && this.#pool.stats.connected === 0) {
      this.#opening = { ...Promise.withResolvers(), isSettling: false };
      this.#opening.promise.catch(() => {});
    }
    return await this.#pool.request(request);
  }

  /** Closes idle connections. Open requests end on theirs, which are then closed too. No further request is sent. */
  close(): void {
    const close = (): void => void this.#pool.close();
    // First all that waits for the connection is sent.
    if (this.#opening === undefined) close();
    else void this.#opening.promise.catch(() => {}).then(() => setImmediate(close));
  }

  #createPool(): Pool {
    const factory = () => this.#createClient(pool);
    const pool: Pool = new Pool(this.#options.server.origin, { factory });
    return pool;
  }

  #createClient(pool: Pool): Client {
    const { server, quietMs = QUIET_MS, serverState } = this.#options;
    const reconnects = new Reconnects();
    const client: Client = new Client(server.origin, {
      ...CLIENT_OPTIONS,
      pingInterval: quietMs,
      connect: (where, callback) =>
        reconnects.connect(() => this.#connect(client, where, callback), callback),
    });
    client.on('connect', () => {
      serverState.reportContact();
      if (pool === this.#pool) this.#connected(client);
    });
    client.on('connectionError', (_origin, _targets, error) => {
      if (pool === this.#pool) this.#opened(error);
    });
    client.on('drain', () => {
      const { running, pending } = client.stats;
      // The first one may come before anything is sent.
      if (pool === this.#pool && (running > 0 || pending === 0)) this.#settled();
    });
    client.on('disconnect', () => {
      const isGoAway = client.stats.running > 0;
      if (!isGoAway) return;
      reconnects.goAway();
      if (pool !== this.#pool) return;
      this.#pool = this.#createPool();
      void pool.close();
    });
    return client;
  }

  #connected(client: Client): void {
    if (this.#opening === undefined) return;
    if (this.#isHttp1) {
      this.#opened();
      return;
    }
    this.#opening.isSettling = true;
    // Now undici sends. If what the connection was opened for has been aborted, nothing drains.
    queueMicrotask(() => client.stats.running === 0 && this.#settled());
  }

  #settled(): void {
    if (this.#opening?.isSettling === true) this.#opened();
  }

  #opened(error?: Error): void {
    if (error === undefined) this.#opening?.resolve();
    else this.#opening?.reject(error);
    this.#opening = undefined;
  }

  #connect(
    client: Client,
    { hostname, port, protocol }: buildConnector.Options,
    callback: buildConnector.Callback,
  ): Socket {
    const { tls, sockets, isRelay = false } = this.#options;
    const isTls = protocol === 'https:';
    const address = { ...ADDRESSING, host: hostname, port: Number(port || (isTls ? 443 : 80)) };
    // The name that a server with several certificates, or a gateway, chooses by. An IP address is not a server name.
    const servername = tls.servername ?? (isIP(hostname) === 0 ? hostname : '');
    const socket = isTls
      ? connectTls({ ALPNProtocols: ['h2', 'http/1.1'], ...address, ...tls, servername })
      : connectTcp(address);
    sockets.add(socket);
    socket.setNoDelay(true).setKeepAlive(true, isRelay ? RELAY_KEEP_ALIVE_MS : KEEP_ALIVE_MS);
    let isOpen = false;
    const limit = (ms: number, isInTime: () => boolean): NodeJS.Timeout => {
      const error = new Error(`no connection within ${ms / 1000} s`);
      // After a turn of the event loop that took long, what has arrived meanwhile is read first.
      const expire = (): void => void setImmediate(() => isInTime() || socket.destroy(error));
      return setTimeout(expire, ms);
    };
    const late = limit(isRelay ? RELAY_CONNECT_MS : CONNECT_MS, () => isOpen);
    if (isRelay) {
      const absent = limit(RELAY_ACCEPT_MS, () => !socket.connecting);
      for (const event of ['connect', 'close']) socket.once(event, () => clearTimeout(absent));
    }
    let reason = new Error('the connection was closed');
    socket.on('error', (error) => {
      reason = error;
    });
    socket.once('close', () => {
      clearTimeout(late);
      if (!isOpen) callback(new NoConnection(reason.message, { cause: reason }), null);
    });
    // It may be reset in the turn in which its handshake ends, which a session that begins then would not notice.
    socket.once(isTls ? 'secureConnect' : 'connect', () =>
      setImmediate(() => {
        if (socket.destroyed) return;
        clearTimeout(late);
        isOpen = true;
        this.#isHttp1 = !('alpnProtocol' in socket && socket.alpnProtocol === 'h2');
        client.pipelining = this.#isHttp1 ? 1 : MAX_STREAMS;
        if (!this.#isHttp1) this.#endIfSilent(client, socket);
        callback(null, socket);
      }),
    );
    return socket;
  }

  #endIfSilent(client: Client, socket: Socket): void {
    const { server, quietMs = QUIET_MS, isRelay = false, serverState, logger } = this.#options;
    const name = isRelay ? 'relay' : 'API server';
    const checkMs = quietMs / CHECKS;
    const silentMs = quietMs + Math.min(ANSWER_MS, quietMs);
    let bytes = 0;
    let checks = 0;
    const timer = setInterval(() => {
      checks = socket.bytesRead === bytes ? checks + 1 : 0;
      bytes = socket.bytesRead;
      if (checks === 0) serverState.reportBytes();
      if (checks * checkMs < silentMs) return;
      clearInterval(timer);
      logger.warn(
        { server: addressOf(server), requests: client.stats.running },
        `a connection to the ${name} has fallen silent; its requests are ended, and the next one opens a new connection`,
      );
      const message = `the ${name} at ${addressOf(server)} has fallen silent: no byte within ${silentMs / 1000} s`;
      socket.destroy(new WrapperError('Unreachable', message, { silentMs, isRelay }));
    }, checkMs).unref();
    client.once('disconnect', () => clearInterval(timer));
  }
}
