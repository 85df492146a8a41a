import { finished } from 'node:stream/promises';
import type { Credentials } from '../credentials/credentials.ts';
import { abortable } from '../util/linked-abort-controller.ts';
import { SingleFlight } from '../util/single-flight.ts';
import type { AbortGroup } from './abort-group.ts';
import type { AgentPool } from './agent-pool.ts';
import { createAgentRequest } from './agent-request.ts';
import type { ServerState } from './server-state.ts';
import { isForeignResponse, isUsableResponse } from './usable-response.ts';

/** How long a health check may take, in milliseconds. */
const PROBE_MS = 10_000;
/** How long a search among all servers may take, in milliseconds. */
const SEARCH_MS = 1_000;
/** Every API server answers it from memory, for every user that is logged in (system:public-info-viewer). */
const PROBE_PATH = '/version';

export interface ServerProbeOptions {
  readonly credentials: Pick<Credentials, 'servers' | 'headers'>;
  readonly agents: AgentPool;
  readonly aborts: AbortGroup;
  /** Notified of every response. */
  readonly serverState: Pick<ServerState, 'noteAnswer'>;
  /** Called when a search has found that `found` answers and `current`, the server in use, does not. */
  readonly onFound: (found: URL, current: URL) => void;
}

/** Health-checks API servers, each time on a new connection: an idle one may be as dead as those in question. */
export class ServerProbe {
  readonly #options: ServerProbeOptions;
  readonly #searching = new SingleFlight<boolean>();

  constructor(options: ServerProbeOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the status of the response, or with undefined if no API server sends one in time. Never rejects.
   */
  async probe(server: URL, ms = PROBE_MS): Promise<number | undefined> {
    const { agents, aborts, serverState } = this.#options;
    const timeout = AbortSignal.timeout(ms);
    const abort = aborts.begin(timeout);
    const { signal } = abort;
    const agent = agents.createSingleUse(server);
    try {
      const identity = await this.#identityWithin(ms / 2, signal);
      const request = { method: 'GET', path: PROBE_PATH };
      const sent = agent.request(createAgentRequest(server, request, identity, signal));
      const { statusCode, headers, body } = await abortable(sent, signal);
      serverState.noteAnswer(statusCode, headers);
      body.resume();
      await finished(body, { signal });
      return isForeignResponse(statusCode, headers) ? undefined : statusCode;
    } catch {
      // A health check has no other result than an answer or none; the caller reports the second.
      return undefined;
    } finally {
      aborts.end(abort);
      agent.destroy();
    }
  }

  /**
   * Looks for a server that answers. The one in use is preferred, even if another one is faster. Concurrent calls
   * share one search. Resolves with whether any server answers; false if there is only one.
   */
  search(): Promise<boolean> {
    return this.#searching.run(() => this.#search());
  }

  async #search(): Promise<boolean> {
    const [current, ...others] = this.#options.credentials.servers;
    if (current === undefined || others.length === 0) return false;
    const none = (): undefined => undefined;
    const other = Promise.any(others.map((server) => this.#assertAnswers(server))).catch(none);
    const found = (await this.#assertAnswers(current).catch(none)) ?? (await other);
    if (found === undefined) return false;
    if (found !== current && !this.#options.aborts.isClosed) this.#options.onFound(found, current);
    return true;
  }

  /** Resolves with the server if it gives a usable response, and rejects otherwise. */
  async #assertAnswers(server: URL): Promise<URL> {
    const statusCode = await this.probe(server, SEARCH_MS);
    if (statusCode !== undefined && isUsableResponse(statusCode)) return server;
    throw new Error('no usable response');
  }

  /** No headers if the credentials take too long: a server that is there answers 401, which is enough. */
  async #identityWithin(
    ms: number,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>>> {
    const late = AbortSignal.any([signal, AbortSignal.timeout(ms)]);
    const headers = this.#options.credentials.headers();
    const identity = await abortable(headers, late).catch(() => ({}));
    signal.throwIfAborted();
    return identity;
  }
}
