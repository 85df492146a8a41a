import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import { WrapperError } from '../../errors.ts';
import { abortable, LinkedAbortController } from '../../util/linked-abort-controller.ts';
import { VERSION } from '../../version.ts';
import type { RequestEnd } from '../api/request-end.ts';
import type { RequestHeaders } from '../credentials/credentials.ts';
import { OpenSockets } from '../system/open-sockets.ts';
import { Failover, type FailoverOptions } from './failover.ts';
import { Line, type LineOptions, NoConnection } from './line.ts';
import { ServerState } from './server-state.ts';
import { createBody, type StreamedResponse } from './upstream-body.ts';
import { addressOf, describeCause, unreachable } from './upstream-error.ts';

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST';
  /** Path and query, as the API server documents them. */
  readonly path: string;
  /** Names in lower case. The upstream adds the headers that authenticate. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The whole body, because it is sent again after a 401. */
  readonly body?: string | Buffer;
  /**
   * An Authorization header that replaces our own identity. The request then carries none of our headers, and its
   * connection has no client certificate, because the API server would prefer that to the header.
   */
  readonly authorization?: string;
  /**
   * Ends the request immediately, before the headers and while the body is read. If its time limit has passed (reason
   * `TimeoutError`), see {@link Upstream.doubt}.
   */
  readonly signal?: AbortSignal;
  /** Called for each chunk of the body as it arrives, before it is decompressed. */
  readonly onBytes?: () => void;
}

/** Read or destroy its body. */
export interface UpstreamResponse extends StreamedResponse {
  readonly statusCode: number;
  /** `host:port` of the server that has answered. */
  readonly address: string;
  /** A relay has answered; see {@link endOfResponse}. */
  readonly isRelay?: boolean;
  /**
   * Records the end of the request, which its reader calls when it is known; for a watch, each time that it brings
   * events; see REQUEST_ENDS. A response without a report shows nothing about the API server.
   *
   * @param cause for the log; default: its status
   */
  report(end: RequestEnd, cause?: string): void;
}

export interface UpstreamOptions
  extends Pick<FailoverOptions, 'credentials' | 'servers' | 'relays' | 'relayWaitMs' | 'returnMs'>,
    Pick<LineOptions, 'quietMs'> {
  /**
   * Lists something that needs etcd, by this request; rejects if that fails. When the list arrives from a preferred
   * server, this server is used again. Default: no preferred server is used again.
   */
  readonly list?:
    | ((request: Upstream['request'], isRelay: boolean) => Promise<unknown>)
    | undefined;
  readonly logger: Logger;
  /**
   * Time limit for the start of a response, a connection included, in milliseconds; default 40,000. It is longer than
   * the 29 s in which a dead connection is found: what ends here hangs at a server that answers others.
   */
  readonly headersMs?: number;
}

const HEADERS_MS = 40_000;
/** Names us in the API server's audit log and priority levels. Forwarded requests keep the caller's name. */
const USER_AGENT = `kube-proxy-wrapper/${VERSION}`;

/**
 * The room upstream: the line to the API server. This is its client, under our own identity or that of a caller. It
 * connects when the first request is sent.
 *
 *     request ─▶ Failover: the server in use ─▶ Line: one per server and identity ─▶ undici
 *        │           ▲ its end
 *        │           │
 *     report() ── how it ended ────────────▶ ServerState: whether any server answers any query
 *                                                │ no                          ▲ yes: all queries go on
 *                                                ▼                             │
 *                                            AttemptQueue: one query after another tries
 *
 * The room must not know collections or versions, and must not send a request again that the server may have processed,
 * except a GET.
 *
 * A request has these states; its {@link LinkedAbortController} ends it in each of them:
 *
 *     authenticating ── headers() ──▶ waiting ── response ──▶ reading ── body closed ──▶ ended
 *           ▲                          │ │ ▲                     │                         ▲
 *           │                          │ └─┘ a GET, once:        │                         │
 *           │                          │     connection lost     │                         │
 *           └──── refresh() ◀ first 401┘                         │                         │
 *     any state ── signal aborted, upstream closed, network error ┴─────────────────────────┘
 *
 * - authenticating: waits for the credentials. Nothing was sent.
 * - waiting: for a connection, or for the response. Line sends it again if the server has verifiably not processed it.
 * - reading: ends if its connection falls silent.
 */
export class Upstream {
  /** The state of the API server, as all requests together have found it. */
  readonly serverState: ServerState;
  /** The servers; the first is the one in use. */
  readonly failover: Failover;
  readonly #options: UpstreamOptions;
  /** By identity and URL: bounded, because an operator has listed the servers. */
  readonly #lines = new Map<string, Line>();
  /** Sockets of lines that were replaced are among them. */
  readonly #sockets = new OpenSockets();
  /** The requests that have not ended, with the server that was asked. */
  readonly #open = new Map<LinkedAbortController, URL>();
  /** The API server has rejected our identity, and answered nothing since. */
  #isRejected = false;
  /** The servers that are asked because of a {@link doubt}. */
  readonly #doubted = new Set<string>();
  /** Why requests end; undefined: the upstream is open. */
  #closed: WrapperError | undefined;

  /** Throws `InvalidSettings`; see {@link Failover}. */
  constructor(options: UpstreamOptions) {
    const { list } = options;
    this.#options = options;
    this.serverState = new ServerState(options);
    this.failover = new Failover({
      ...options,
      isConnected: ({ href }) => {
        const lines = [...this.#lines.values()];
        return lines.some(({ server, isConnected }) => server === href && isConnected);
      },
      tryServer: list && ((server) => this.#try(list, server)),
      onReturn: () => this.serverState.history.reportReturned(),
    });
    this.failover.onTlsChange(() => this.#retireLines());
  }

  /** `host:port` of the API server, for messages. */
  get address(): string {
    return addressOf(this.failover.servers[0]);
  }

  /**
   * Sends a request. Resolves with the headers of the response, whatever its status. After a 401 the credentials are
   * read again and the request is sent once more. Throws `Unreachable` if the network or TLS fails, here or while
   * the body is read. Throws `Credentials`, and the reason of an aborted signal.
   */
  async request(request: UpstreamRequest): Promise<UpstreamResponse> {
    let response = await this.#send(request);
    if (request.authorization !== undefined) return response;
    if (response.statusCode === 401) {
      response.body.destroy();
      const fields = { path: request.path };
      // Other requests may be answered, so that the cause seems new each time.
      const { log } = this.serverState;
      if (!this.#isRejected) log.info(fields, 'answered 401; the credentials are read again');
      this.#isRejected = true;
      await this.#refresh(request.signal);
      response = await this.#send(request);
    }
    if (response.statusCode !== 401) this.#isRejected = false;
    return response;
  }

  /**
   * Gives up the server in use if no server has answered since then, and ends its requests. Returns whether another one
   * is tried now.
   *
   * @param since monotonic, in milliseconds
   */
  leaveServer(since: number): boolean {
    if (this.serverState.condition.name === 'reachable' || this.waitsForRelays) return false;
    const isOther = this.failover.leaveServer(since);
    const [current] = this.failover.servers;
    const reason = new Error('it does not answer, and another one is tried');
    for (const [abort, server] of this.#open) {
      const isRelay = this.failover.isRelay(server);
      if (server.href !== current.href) abort.abort(unreachable(reason, server, { isRelay }));
    }
    return isOther;
  }

  /**
   * Reports that a request had no answer in its own time. Either the server is slow, or a caller has made this request
   * slow. To find out, `list` of the options is requested from the server, if it is in use and not the only one. The
   * server is left only if that has no response either. One such request is open per server.
   */
  doubt(server = this.failover.servers[0]): void {
    const { list } = this.#options;
    const [inUse, other] = this.failover.servers;
    if (other === undefined || server.href !== inUse.href || this.#closed !== undefined) return;
    if (list === undefined || this.#doubted.has(server.href)) return;
    this.#doubted.add(server.href);
    const done = (): void => void this.#doubted.delete(server.href);
    void this.#try(list, server).then(done, done);
  }

  /** Bytes received from all servers since the start. */
  get receivedBytes(): number {
    return this.#sockets.received;
  }

  /** See {@link Failover.waitsForRelays}. */
  get waitsForRelays(): boolean {
    return this.failover.waitsForRelays;
  }

  /** See {@link Failover.reportNoSnapshot}. */
  reportNoSnapshot(): void {
    this.failover.reportNoSnapshot();
  }

  /** See {@link Failover.inUseSince}. */
  get inUseSince(): number {
    return this.failover.inUseSince;
  }

  /** Since when the relay in use is used; monotonic, in milliseconds. Undefined: an API server is in use. */
  get relaySince(): number | undefined {
    return this.failover.relaySince;
  }

  /** See {@link Failover.relayBootsUntil}. */
  get relayBootsUntil(): number {
    return this.failover.relayBootsUntil;
  }

  /** Gives up the relay in use; see {@link Failover.leaveRelay}. Open watches stay where they are. */
  leaveRelay(since: number): void {
    this.failover.leaveRelay(since);
  }

  /** Ends all requests and waits until no connection is left. */
  async close(): Promise<void> {
    const message = 'the connection to the API server is being closed';
    this.#closed = new WrapperError('Unreachable', message);
    this.failover.close();
    for (const abort of this.#open.keys()) abort.abort(this.#closed);
    this.#retireLines();
    const closed = [...this.#sockets].map(
      (socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())),
    );
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }

  /** Reads the credentials again, but does not wait longer than the request would for a plugin that hangs. */
  async #refresh(signal: AbortSignal | undefined): Promise<void> {
    const abort = this.#begin(signal, this.failover.servers[0]);
    try {
      await abortable(this.#options.credentials.refresh(), abort.signal);
    } finally {
      this.#end(abort);
    }
  }

  #try(list: NonNullable<UpstreamOptions['list']>, server: URL): Promise<unknown> {
    return list((request) => this.#send(request, server), this.failover.isRelay(server));
  }

  /** Authenticates a request and sends it. */
  async #send(
    request: UpstreamRequest,
    server = this.failover.servers[0],
  ): Promise<UpstreamResponse> {
    const abort = this.#begin(request.signal, server);
    const { signal } = abort;
    const since = performance.now();
    const isRelay = this.failover.isRelay(server);
    const explain = (error: unknown): unknown => {
      const hasAuthority = this.failover.tls(server).ca !== undefined;
      return signal.aborted ? signal.reason : unreachable(error, server, { isRelay, hasAuthority });
    };
    signal.addEventListener('abort', () => {
      if (signal.reason?.name === 'TimeoutError') this.doubt(server);
    });
    try {
      signal.throwIfAborted();
      const { authorization } = request;
      const identity =
        authorization === undefined
          ? await abortable(this.#options.credentials.headers(), signal)
          : { authorization };
      const asked = { server, since };
      const { statusCode, headers, body } = await this.#respond(request, identity, asked, abort);
      const onContact = (): void => {
        if (statusCode === 200) this.serverState.reportContact();
      };
      const onBytes = (): void => {
        onContact();
        request.onBytes?.();
      };
      onContact();
      // It may fail before it is read: its reader gets the error. Without a listener it would end the process.
      body.on('error', () => {});
      body.once('close', () => this.#end(abort));
      return {
        statusCode,
        headers,
        address: addressOf(server),
        isRelay,
        body: createBody(body, { explain, onBytes }),
        report: (end, cause = `HTTP ${statusCode}`) => {
          this.serverState.reportAnswer(end);
          this.failover.report(server, since, end, cause);
        },
      };
    } catch (error) {
      this.#end(abort);
      throw explain(error);
    }
  }

  /** Waits for the response. */
  async #respond(
    request: UpstreamRequest,
    identity: RequestHeaders,
    { server, since }: { readonly server: URL; readonly since: number },
    abort: LinkedAbortController,
  ): Promise<Dispatcher.ResponseData> {
    const { headersMs = HEADERS_MS } = this.#options;
    const { method, body } = request;
    const { signal } = abort;
    const isOwn = request.authorization === undefined;
    const send = async (): Promise<Dispatcher.ResponseData> => {
      const line = this.#line(isOwn, server);
      try {
        return await line.request({
          path: server.pathname.replace(/\/$/, '') + request.path,
          method,
          headers: { 'user-agent': USER_AGENT, ...request.headers, ...identity },
          body: body ?? null,
          signal,
        });
      } catch (error) {
        if (error instanceof NoConnection) this.#forget(line);
        throw error;
      }
    };
    const isRelay = this.failover.isRelay(server);
    const reason = new Error(`no response within ${headersMs / 1000} s`);
    const late = unreachable(reason, server, { isRelay });
    const timer = setTimeout(() => abort.abort(late), headersMs);
    try {
      return await abortable(
        send().catch((error) => {
          // The server may close a connection just when it is used again (RFC 9110 section 9.2.1 about safe methods).
          if (method !== 'GET' || signal.aborted || error instanceof NoConnection) throw error;
          return send();
        }),
        signal,
      );
    } catch (error) {
      // A caller could provoke the failure of its own request, but not of a connection.
      const isProof = isOwn || error instanceof NoConnection;
      if (isProof && (!signal.aborted || signal.reason === late)) {
        this.failover.report(server, since, 'unreachable', describeCause(error));
      }
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #begin(signal: AbortSignal | undefined, server: URL): LinkedAbortController {
    const abort = new LinkedAbortController(signal);
    this.#open.set(abort, server);
    if (this.#closed !== undefined) abort.abort(this.#closed);
    return abort;
  }

  #end(abort: LinkedAbortController): void {
    this.#open.delete(abort);
    abort.release();
  }

  /**
   * A caller has a line of its own if we have a client certificate, which the API server would prefer to the caller's
   * token.
   */
  #line(isOwner: boolean, server: URL): Line {
    const isOwn = isOwner || this.failover.tls().cert === undefined;
    const id = `${isOwn ? 'own' : 'caller'} ${server.href}`;
    const known = this.#lines.get(id);
    if (known !== undefined) return known;
    this.#forgetGone();
    const tls = this.failover.tls(server);
    const { cert, key, ...anonymous } = tls;
    const line = new Line({
      ...this.#options,
      server,
      tls: isOwn ? tls : anonymous,
      isRelay: this.failover.isRelay(server),
      sockets: this.#sockets,
      serverState: this.serverState,
    });
    this.#lines.set(id, line);
    return line;
  }

  /** Relays may have been replaced since the last switch. */
  #forgetGone(): void {
    const listed = new Set(this.failover.servers.map(({ href }) => href));
    for (const line of this.#lines.values()) if (!listed.has(line.server)) this.#forget(line);
  }

  /** The next request reads the TLS options of the server again: the authority of relays may be another one now. */
  #forget(line: Line): void {
    for (const [id, held] of this.#lines) {
      if (held !== line) continue;
      this.#lines.delete(id);
      line.close();
    }
  }

  /** Open requests end on their connections, and further requests get new ones. */
  #retireLines(): void {
    for (const line of this.#lines.values()) line.close();
    this.#lines.clear();
  }
}
