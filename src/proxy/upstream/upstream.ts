import { finished } from 'node:stream/promises';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { VERSION } from '../../version.ts';
import type { Credentials } from '../credentials/credentials.ts';
import { abortable, LinkedAbortController } from '../util/linked-abort-controller.ts';
import { ActiveRequests } from './active-requests.ts';
import { ConnectionTracker } from './connection-tracker.ts';
import type { Outcome } from './failover.ts';
import { isServerFailure, isUsableResponse, Reachability } from './reachability.ts';
import { type AgentRequest, NoAnswer, type UpstreamAgent } from './upstream-agent.ts';
import { createBody, type ResponseHeaders, type UpstreamBody } from './upstream-body.ts';
import { addressOf, unreachable } from './upstream-error.ts';

export {
  type ResponseHeaders,
  readBody,
  readBuffers as readPieces,
  type UpstreamBody,
} from './upstream-body.ts';

export interface UpstreamRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query, as the API server documents them. */
  readonly path: string;
  /** Names in lower case; those that authenticate are set by the upstream. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whole, for it is sent again after a 401. */
  readonly body?: string | Buffer;
  /**
   * An Authorization header to be sent in place of our own identity: without our headers, and over a
   * connection without our client certificate, which the API server would prefer to the header.
   */
  readonly authorization?: string;
  /** Ends the request at once, before the headers and while the body is read. */
  readonly signal?: AbortSignal;
}

export interface UpstreamResponse {
  readonly statusCode: number;
  readonly headers: ResponseHeaders;
  /** As it was sent, so gzip if the request allowed that; see {@link readBody}. */
  readonly body: UpstreamBody;
}

/** The way to the API server, under our own identity. */
export interface Upstream {
  /**
   * Sends a request; resolves when the headers of the answer are there, whatever its status. After a 401 the
   * credentials are read anew and the request is sent once more. Throws `Unreachable` when the network or
   * TLS fails, here or while the body is read, `Credentials`, and the reason of an aborted signal.
   */
  request(request: UpstreamRequest): Promise<UpstreamResponse>;
  /** `host:port` of the API server, for messages. */
  readonly address: string;
  /** Whether the API server can be reached, as all requests have found. */
  readonly reach: Reachability;
  /**
   * Asks one API server, on a new connection, for a sign of life. Resolves with the status of its answer, or
   * with undefined when there is none in time. Never rejects.
   */
  probe(server: URL): Promise<number | undefined>;
  /**
   * Asks all API servers for a sign of life and, when the one in use gives none within a second and another
   * one does, sees to it that this one is used. Resolves with whether any did; at once with false where there
   * is only one server. Never rejects.
   */
  search(): Promise<boolean>;
  /** Ends all requests and waits until no connection is left. */
  close(): Promise<void>;
}

export interface UpstreamOptions {
  readonly credentials: Credentials;
  readonly logger: Logger;
  /** How long a body may wait for its reader before its request is ended, in milliseconds; default 30,000. */
  readonly unreadMs?: number;
  /** Called with how each request ended; see Failover. */
  readonly onOutcome?: (server: URL, outcome: Outcome) => void;
  /** Told of a server that was found to answer while the one in use does not. */
  readonly onFound?: (server: URL) => void;
  /** After this long without a byte from the API server it is asked whether it is there; see Pulse. */
  readonly quietMs?: number;
  /** How long an answer may take to begin, in milliseconds; default 40,000. */
  readonly headersMs?: number;
}

/** What the API server's audit log and priority levels know us by. What is passed on keeps its own. */
const USER_AGENT = `kube-proxy-wrapper/${VERSION}`;
const UNREAD_MS = 30_000;
/** How long a search among all servers may take, in milliseconds. */
const SEARCH_MS = 1_000;
/** How long a probe may take, in milliseconds. */
const PROBE_MS = 10_000;
/** Every API server answers it from memory, and lets everybody who is logged in read it (system:public-info-viewer). */
const PROBE_PATH = '/version';

/** Opens the way to the API server; connects only when the first request is sent. */
export function createUpstream(options: UpstreamOptions): Upstream {
  return new AgentUpstream(options);
}

class AgentUpstream implements Upstream {
  readonly #credentials: Credentials;
  readonly #logger: Logger;
  readonly #unreadMs: number;
  readonly #unsubscribe: () => void;
  readonly reach = new Reachability();
  readonly #onOutcome: (server: URL, outcome: Outcome) => void;
  readonly #onFound: (server: URL) => void;
  readonly #connections: ConnectionTracker;
  readonly #requests: ActiveRequests;
  /** Requests from before they are sent until their bodies are closed. */
  readonly #live = new Set<LinkedAbortController>();
  #own: UpstreamAgent | undefined;
  /** For requests under another identity than ours. */
  #foreign: UpstreamAgent | undefined;
  #searching: Promise<boolean> | undefined;
  /** Credentials that were read anew did not help either: that is not told each time. */
  #isUnauthorized = false;
  #closed = false;

  constructor(options: UpstreamOptions) {
    const { credentials, logger, unreadMs = UNREAD_MS, onOutcome = () => {} } = options;
    this.#onOutcome = onOutcome;
    this.#onFound = options.onFound ?? (() => {});
    this.#connections = new ConnectionTracker(() => this.reach.noteConnected(), options.headersMs);
    this.#requests = new ActiveRequests({
      ...options,
      probe: (server) => this.probe(server),
      onDead: (server) => onOutcome(server, 'silent'),
    });
    this.#credentials = credentials;
    this.#logger = logger;
    this.#unreadMs = unreadMs;
    this.#unsubscribe = credentials.onTlsChange(() => this.#retireAgents());
  }

  get address(): string {
    return addressOf(this.#server());
  }

  async request(request: UpstreamRequest): Promise<UpstreamResponse> {
    const response = await this.#send(request);
    if (request.authorization !== undefined) return response;
    if (response.statusCode !== 401) {
      this.#isUnauthorized = false;
      return response;
    }
    response.body.destroy();
    if (!this.#isUnauthorized) {
      this.#logger.info({ path: request.path }, 'answered 401; the credentials are read anew');
    }
    await this.#refresh(request.signal);
    const again = await this.#send(request);
    this.#isUnauthorized = again.statusCode === 401;
    return again;
  }

  async probe(server: URL): Promise<number | undefined> {
    return this.#probe(server, PROBE_MS);
  }

  search(): Promise<boolean> {
    this.#searching ??= this.#search().finally(() => {
      this.#searching = undefined;
    });
    return this.#searching;
  }

  async #search(): Promise<boolean> {
    const [current, ...others] = this.#credentials.servers;
    if (current === undefined || others.length === 0) return false;
    const ask = async (server: URL): Promise<URL> => {
      const statusCode = await this.#probe(server, SEARCH_MS);
      if (statusCode !== undefined && isUsableResponse(statusCode)) return server;
      throw new Error('no answer');
    };
    const other = Promise.any(others.map(ask)).catch(() => undefined);
    // The one in use is preferred, also where another one is faster.
    const found = (await ask(current).catch(() => undefined)) ?? (await other);
    if (found === undefined) return false;
    if (found !== current && !this.#closed) {
      this.#onFound(found);
      this.#requests.giveUp(current);
    }
    return true;
  }

  async #probe(server: URL, ms: number): Promise<number | undefined> {
    const signal = AbortSignal.timeout(ms);
    const abort = this.#begin(signal);
    // A connection that idles in the pool may be as dead as those in question.
    const agent = this.#connections.agent(this.#credentials.tls());
    try {
      const request: UpstreamRequest = { method: 'GET', path: PROBE_PATH, signal };
      const identity = await this.#identityWithin(ms / 2, abort.signal);
      const options = this.#options(server, request, identity, abort.signal);
      const { statusCode, body } = await abortable(agent.request(options), abort.signal);
      this.reach.noteAnswer(isUsableResponse(statusCode));
      body.resume();
      await finished(body, { signal: abort.signal });
      return statusCode;
    } catch {
      // Whatever it was, it was no answer.
      return undefined;
    } finally {
      this.#end(abort);
      agent.destroy();
    }
  }

  /** None, when the credentials do not come in time: a server answers a stranger too, if only with 401. */
  async #identityWithin(ms: number, signal: AbortSignal): Promise<AgentRequest['headers']> {
    const late = AbortSignal.any([signal, AbortSignal.timeout(ms)]);
    const identity = await abortable(this.#credentials.headers(), late).catch(() => ({}));
    signal.throwIfAborted();
    return identity;
  }

  /** Reads the credentials anew; a plugin that hangs is waited for no longer than the request would be. */
  async #refresh(signal: AbortSignal | undefined): Promise<void> {
    const abort = this.#begin(signal);
    try {
      await abortable(this.#credentials.refresh(), abort.signal);
    } finally {
      this.#end(abort);
    }
  }

  /** What is begun here ends with the signal, and when this is closed. */
  #begin(signal: AbortSignal | undefined): LinkedAbortController {
    const abort = new LinkedAbortController(signal);
    this.#live.add(abort);
    if (this.#closed) abort.abort(closedError());
    return abort;
  }

  #end(abort: LinkedAbortController): void {
    this.#live.delete(abort);
    abort.release();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#unsubscribe();
    for (const abort of this.#live) abort.abort(closedError());
    this.#retireAgents();
    await this.#connections.close();
  }

  async #send(request: UpstreamRequest): Promise<UpstreamResponse> {
    const abort = this.#begin(request.signal);
    const release = (): void => this.#end(abort);
    try {
      abort.signal.throwIfAborted();
      const identity = await abortable(this.#identity(request), abort.signal);
      return await this.#exchange(request, identity, abort, release);
    } catch (error) {
      release();
      throw abort.signal.aborted ? abort.signal.reason : unreachable(error, this.#server());
    }
  }

  /** Throws an error of the network as `Unreachable`, naming the server it was sent to. */
  async #exchange(
    request: UpstreamRequest,
    identity: Readonly<Record<string, string>>,
    abort: LinkedAbortController,
    release: () => void,
  ): Promise<UpstreamResponse> {
    const server = this.#server();
    const { signal } = abort;
    const live = this.#requests.add(server, abort);
    const explain = (error: unknown): unknown =>
      signal.aborted ? signal.reason : unreachable(error, server);
    try {
      const options = this.#options(server, request, identity, signal);
      const answer = await abortable(this.#agent(request).request(options), signal);
      live.heard();
      const { statusCode, headers } = answer;
      const toGoBy = isUsableResponse(statusCode, headers);
      this.reach.noteAnswer(toGoBy);
      this.#onOutcome(server, isServerFailure(statusCode, headers) ? 'serverError' : 'answered');
      answer.body.once('close', release).once('close', () => live.release());
      const onUnread = (): void => {
        this.#logger.warn({ path: request.path }, 'an answer was not read; its request is ended');
      };
      const onChunk = (): void => {
        live.heard();
        this.reach.noteAnswer(toGoBy);
      };
      const unreadMs = this.#unreadMs;
      const body = createBody(answer.body, { explain, onUnread, onChunk, unreadMs });
      return { statusCode, headers, body };
    } catch (error) {
      live.release();
      if (!signal.aborted) {
        this.#onOutcome(server, error instanceof NoAnswer ? 'silent' : 'unreachable');
      }
      throw explain(error);
    }
  }

  async #identity({ authorization }: UpstreamRequest): Promise<Readonly<Record<string, string>>> {
    return authorization === undefined ? await this.#credentials.headers() : { authorization };
  }

  #options(
    { origin, pathname }: URL,
    request: UpstreamRequest,
    identity: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): AgentRequest {
    return {
      origin,
      path: pathname.replace(/\/$/, '') + request.path,
      method: request.method,
      headers: { 'user-agent': USER_AGENT, ...request.headers, ...identity },
      body: request.body,
      signal,
    };
  }

  #agent({ authorization }: UpstreamRequest): UpstreamAgent {
    const { cert, key, ...anonymous } = this.#credentials.tls();
    if (authorization !== undefined) {
      this.#foreign ??= this.#connections.agent(anonymous);
      return this.#foreign;
    }
    this.#own ??= this.#connections.agent(this.#credentials.tls());
    return this.#own;
  }

  /** Requests under way end on the connections they have; the next ones get new connections. */
  #retireAgents(): void {
    this.#own?.close();
    this.#foreign?.close();
    this.#own = undefined;
    this.#foreign = undefined;
  }

  #server(): URL {
    const [server] = this.#credentials.servers;
    if (server !== undefined) return server;
    throw new WrapperError('Credentials', 'the credentials name no API server');
  }
}

function closedError(): WrapperError {
  return new WrapperError('Unreachable', 'the connection to the API server is being closed');
}
