import { decodeList, decodeStatus } from '../../filter/codec/json/decode.ts';
import { NODES } from '../../filter/codec/resource.ts';
import { abortable } from '../../util/linked-abort-controller.ts';
import { SingleFlight } from '../../util/single-flight.ts';
import { queryPath } from '../api/query.ts';
import type { Credentials } from '../credentials/credentials.ts';
import type { AbortGroup } from './abort-group.ts';
import type { AgentPool } from './agent-pool.ts';
import { createAgentRequest } from './exchange.ts';
import { type Judgement, judgeResponse, type ReadResponse } from './judge-response.ts';
import type { ServerState } from './server-state.ts';
import { readBody } from './upstream-body.ts';

/** How long a health check may take, in milliseconds. */
const PROBE_MS = 10_000;
/** How long a search among all servers may take, in milliseconds. */
const SEARCH_MS = 1_000;
/** A metadata-only list of one Node is far smaller. */
const MAX_BODY_BYTES = 1024 * 1024;
const NO_NODE = 'nobody.kube-proxy-wrapper.io';
const ACCEPT = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const EXPECTED = { type: 'application/json', kind: 'PartialObjectMetadataList', group: '' };

export interface ServerProbeOptions {
  /** The Node that is read; default: one that does not exist. */
  readonly nodeName?: string;
  readonly credentials: Pick<Credentials, 'servers' | 'headers'>;
  readonly agents: AgentPool;
  readonly aborts: AbortGroup;
  /** Notified of every response. */
  readonly serverState: Pick<ServerState, 'noteAnswer'>;
  /** Called when a search has found that `found` answers and `current`, the server in use, does not. */
  readonly onFound: (found: URL, current: URL) => void;
}

/**
 * Health-checks API servers, each time on a new connection: an idle one may be as dead as those in question.
 *
 * It reads the metadata of the own Node, in the newest version: that needs etcd, so that a server without etcd does not
 * seem to work, and the wrapper may read its Node anyway. A server that refuses it with a Status works as well.
 */
export class ServerProbe {
  readonly #options: ServerProbeOptions;
  readonly #searching = new SingleFlight<boolean>();

  constructor(options: ServerProbeOptions) {
    this.#options = options;
  }

  /**
   * Resolves with what the response shows, or with undefined if no API server sends one in time. Never rejects.
   */
  async probe(server: URL, ms = PROBE_MS): Promise<Judgement | undefined> {
    const { agents, aborts, serverState } = this.#options;
    const timeout = AbortSignal.timeout(ms);
    const abort = aborts.begin(timeout);
    const { signal } = abort;
    const agent = agents.createSingleUse(server);
    try {
      const identity = await this.#identityWithin(ms / 2, signal);
      const request = { method: 'GET', path: this.#path, headers: { accept: ACCEPT } };
      const { statusCode, headers, body } = await agent.request(
        createAgentRequest(server, request, identity, signal),
      );
      const bytes = await readBody(body, MAX_BODY_BYTES, headers);
      const judgement = judgeResponse({ statusCode, headers, ...contentOf(bytes) }, EXPECTED);
      if (judgement === 'usable') serverState.noteAnswer(statusCode);
      return judgement === 'foreign' ? undefined : judgement;
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
    if ((await this.probe(server, SEARCH_MS)) === 'usable') return server;
    throw new Error('no usable response');
  }

  get #path(): string {
    const { nodeName = NO_NODE } = this.#options;
    const selector = { labelSelector: '', fieldSelector: `metadata.name=${nodeName}` };
    const query = { resource: NODES, namespace: '', ...selector, encoding: 'json' } as const;
    return queryPath(query, new URLSearchParams({ limit: '1' }));
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

/** What the body of a response holds. */
function contentOf(body: Buffer): Pick<ReadResponse, 'kind' | 'status'> {
  const status = decodeStatus(body);
  if (status !== undefined) return { status };
  try {
    return { kind: decodeList([body]).kind };
  } catch {
    return {};
  }
}
