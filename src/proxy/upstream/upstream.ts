import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { abortable, type LinkedAbortController } from '../../util/linked-abort-controller.ts';
import { OncePerCause } from '../../util/once-per-cause.ts';
import { AbortGroup } from './abort-group.ts';
import { DeadConnection } from './agent.ts';
import { AgentPool } from './agent-pool.ts';
import { createAgentRequest, NoResponse } from './exchange.ts';
import { Failover, type FailoverOptions } from './failover.ts';
import type { Judgement } from './judge-response.ts';
import { ServerProbe } from './server-probe.ts';
import { ServerState } from './server-state.ts';
import { createBody, type ResponseHeaders, type UpstreamBody } from './upstream-body.ts';
import { addressOf, unreachable } from './upstream-error.ts';

export {
  type ResponseHeaders,
  readBody,
  readBuffers,
  type UpstreamBody,
} from './upstream-body.ts';

export interface UpstreamRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
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
  /** Ends the request immediately, before the headers and while the body is read. */
  readonly signal?: AbortSignal;
}

export interface UpstreamResponse {
  readonly statusCode: number;
  readonly headers: ResponseHeaders;
  /** As it was sent: gzip if the request allowed that; see {@link readBody}. Read or destroy it. */
  readonly body: UpstreamBody;
  /**
   * Records who has answered, as its reader has found; see {@link judgeResponse}. A response that is not judged shows
   * nothing about the API server.
   */
  judged(judgement: Judgement): void;
}

/**
 * The room upstream: the line to the API server. This is its client, under our own identity or that of a caller.
 *
 *     request ─▶ Failover: the server in use ─▶ AgentPool: an Agent per server and identity ─▶ Connection ─▶ Exchange
 *        │           ▲ its end                                                              (one undici Client)
 *        │           │
 *     judgeResponse() ── who has answered ─▶ ServerState: whether any server answers any query
 *                                                │ no                          ▲ yes: all queries go on
 *                                                ▼                             │
 *                                            AttemptQueue: one query after another tries
 *
 * ServerProbe asks a server on a new connection: for a search when connections fall silent, and for RecoveryCheck while
 * the preferred server is not used. The room must not know collections or versions beyond one probe, and must not send
 * a request again that the server may have processed.
 */
export interface Upstream {
  /**
   * Sends a request. Resolves with the headers of the response, whatever its status. After a 401 the credentials are
   * read again and the request is sent once more. Throws `Unreachable` if the network or TLS fails, here or while
   * the body is read. Throws `Credentials`, and the reason of an aborted signal.
   */
  request(request: UpstreamRequest): Promise<UpstreamResponse>;
  /** `host:port` of the API server, for messages. */
  readonly address: string;
  /** The state of the API server, as all requests together have found it. */
  readonly serverState: ServerState;
  /**
   * Health-checks one API server on a new connection, with a read that needs its etcd. Resolves with what the
   * response shows, or with undefined if no API server sends one in time. Never rejects.
   */
  probe(server: URL, ms?: number): Promise<Judgement | undefined>;
  /**
   * Health-checks all API servers. If the one in use does not answer within a second and another one does, that one
   * is used. Resolves with whether any server answered; with false if there is only one. Never rejects.
   */
  search(): Promise<boolean>;
  /** The credentials; their first server is the one in use. */
  readonly failover: Failover;
  /** Ends all requests and waits until no connection is left. */
  close(): Promise<void>;
}

export interface UpstreamOptions
  extends Pick<FailoverOptions, 'credentials' | 'servers' | 'returnMs'> {
  /** Health checks read this Node; default: a Node that does not exist. */
  readonly nodeName?: string;
  readonly logger: Logger;
  /** After this time without a byte the API server is asked for a sign of life, in milliseconds; see Agent. */
  readonly quietMs?: number;
  /** Time limit for the start of a response, in milliseconds; default 40,000. */
  readonly headersMs?: number;
}

/** Creates the client. It connects when the first request is sent. Throws `InvalidSettings`; see {@link Failover}. */
export function createUpstream(options: UpstreamOptions): Upstream {
  return new AgentUpstream(options);
}

/**
 * A request has these states; its {@link LinkedAbortController} ends it in each of them:
 *
 *     authenticating ── headers() ──▶ connecting ── sent ──▶ waiting ── response ──▶ reading ── body closed ──▶ ended
 *           ▲                            ▲                     │ │                    │                         ▲
 *           │                            └──── unprocessed ────┘ │                    │                         │
 *           └──────────────── refresh() ◀──────────── first 401 ─┘                    │                         │
 *     any state ── signal aborted, upstream closed, network error, silent connection ─┴─────────────────────────┘
 *
 * - authenticating: waits for the credentials. Nothing was sent.
 * - connecting: waits for a connection with room for one more request; see Agent.
 * - waiting, reading: ends if its connection falls silent, or another server is used in place of its own.
 * - unprocessed: the server has verifiably not processed the request, or it is a GET on a connection that was closed
 *   just when it was used again. It is sent again, up to 4 times in all. Except after a 401, no other request is.
 * - ended: the abort group no longer holds it. Its outcome was reported once.
 */
class AgentUpstream implements Upstream {
  readonly serverState: ServerState;
  readonly failover: Failover;
  readonly #logger: Logger;
  readonly #agents: AgentPool;
  readonly #aborts = new AbortGroup();
  readonly #probe: ServerProbe;
  readonly #unauthorized = new OncePerCause();

  constructor(options: UpstreamOptions) {
    const { logger, headersMs, quietMs } = options;
    this.#logger = logger;
    this.serverState = new ServerState({ logger });
    this.failover = new Failover({
      credentials: options.credentials,
      servers: options.servers,
      returnMs: options.returnMs,
      logger,
      probe: (server, ms) => this.probe(server, ms),
      onReturn: () => this.serverState.noteReturned(),
    });
    this.#agents = new AgentPool({
      credentials: this.failover,
      headersMs,
      quietMs,
      onConnect: () => this.serverState.noteContact(),
      onPing: () => this.serverState.notePing(),
      onDead: (server, requests) => this.#onDead(server, requests),
    });
    this.#probe = new ServerProbe({
      nodeName: options.nodeName,
      credentials: this.failover,
      serverState: this.serverState,
      agents: this.#agents,
      aborts: this.#aborts,
      onFound: (found, current) => {
        this.failover.take(found);
        this.#giveUp(current);
      },
    });
    this.failover.onTlsChange(() => this.#agents.retire());
  }

  get address(): string {
    return addressOf(this.#server());
  }

  async request(request: UpstreamRequest): Promise<UpstreamResponse> {
    const response = await this.#send(request);
    if (request.authorization !== undefined) return response;
    if (response.statusCode !== 401) {
      this.#unauthorized.succeed();
      return response;
    }
    response.body.destroy();
    if (this.#unauthorized.fail('401')) {
      const fields = { path: request.path };
      // Other requests may be answered, so that the cause seems new each time.
      this.serverState.log.info(fields, 'answered 401; the credentials are read again');
    }
    await this.#refresh(request.signal);
    const again = await this.#send(request);
    if (again.statusCode !== 401) this.#unauthorized.succeed();
    return again;
  }

  probe(server: URL, ms?: number): Promise<Judgement | undefined> {
    return this.#probe.probe(server, ms);
  }

  search(): Promise<boolean> {
    return this.#probe.search();
  }

  async close(): Promise<void> {
    this.failover.close();
    this.#aborts.close();
    await this.#agents.close();
  }

  /** Reads the credentials again, but does not wait longer than the request would for a plugin that hangs. */
  async #refresh(signal: AbortSignal | undefined): Promise<void> {
    const abort = this.#aborts.begin(signal);
    try {
      await abortable(this.failover.refresh(), abort.signal);
    } finally {
      this.#aborts.end(abort);
    }
  }

  /** Authenticates a request and sends it. */
  async #send(request: UpstreamRequest): Promise<UpstreamResponse> {
    const abort = this.#aborts.begin(request.signal);
    const { signal } = abort;
    try {
      signal.throwIfAborted();
      const identity = await abortable(this.#identity(request), signal);
      return await this.#exchange(request, identity, abort);
    } catch (error) {
      this.#aborts.end(abort);
      throw signal.aborted ? signal.reason : unreachable(error, this.#server());
    }
  }

  /** Waits for the response. Throws an error of the network as `Unreachable` with the server's address. */
  async #exchange(
    request: UpstreamRequest,
    identity: Readonly<Record<string, string>>,
    abort: LinkedAbortController,
  ): Promise<UpstreamResponse> {
    const server = this.#server();
    const { signal } = abort;
    const owner = request.authorization === undefined ? 'own' : 'caller';
    this.#aborts.sent(abort, server);
    const explain = (error: unknown): unknown =>
      signal.aborted ? signal.reason : unreachable(error, server);
    try {
      const agent = this.#agents.get(owner, server);
      const { statusCode, headers, body } = await agent.request(
        createAgentRequest(server, request, identity, signal),
      );
      const onBytes = (): void => {
        if (statusCode === 200) this.serverState.noteContact();
      };
      onBytes();
      body.once('close', () => this.#aborts.end(abort));
      return {
        statusCode,
        headers,
        body: createBody(body, { explain, onChunk: onBytes }),
        judged: (judgement) => this.#judged(server, statusCode, judgement),
      };
    } catch (error) {
      // A dead connection says little about its server, which is searched for; see #onDead. A caller could provoke the
      // failure of its own request.
      if (!signal.aborted && !(error instanceof DeadConnection) && owner === 'own') {
        this.failover.report(server, error instanceof NoResponse ? 'silent' : 'unreachable');
      }
      throw explain(error);
    }
  }

  #judged(server: URL, statusCode: number, judgement: Judgement): void {
    if (judgement === 'usable') {
      this.serverState.noteAnswer(statusCode);
      this.failover.report(server, 'answered');
    } else if (judgement === 'failing' || judgement === 'foreign') {
      this.failover.report(server, 'serverError');
    }
  }

  /** Ends all requests at a server, because another one is used in its place. */
  #giveUp(server: URL): void {
    const problem = `the API server at ${addressOf(server)} does not answer, and another one does`;
    this.#aborts.giveUp(server, new WrapperError('Unreachable', problem));
  }

  /** A connection has fallen silent. If its server does not answer on a new one either, another server is used. */
  #onDead(server: URL, requests: number): void {
    this.#logger.warn(
      { server: addressOf(server), requests },
      'a connection to the API server has fallen silent; its requests are ended, and the next one opens a new connection',
    );
    void this.search();
  }

  async #identity({ authorization }: UpstreamRequest): Promise<Readonly<Record<string, string>>> {
    return authorization === undefined ? await this.failover.headers() : { authorization };
  }

  #server(): URL {
    const [server] = this.failover.servers;
    if (server !== undefined) return server;
    throw new WrapperError('Credentials', 'the credentials name no API server');
  }
}
