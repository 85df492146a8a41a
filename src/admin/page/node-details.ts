import { queryPath } from '../../client/api/query.ts';
import { explainKey, nodesOfKey } from '../../diagnosis/explain/explain-keys.ts';
import { healthOf, type ReadinessCause } from '../../diagnosis/reading/causes.ts';
import type { Check } from '../../diagnosis/reading/readiness.ts';
import type { ResponseHead } from '../../diagnosis/reading/version-info.ts';
import type { CorrectedEndpoint } from '../../node/local-runtime/corrector.ts';
import type { LocalRuntimeState } from '../../node/local-runtime/local-runtime.ts';
import type { ViewSource } from '../../node/views/view-source.ts';
import type { ProxyState } from '../../server/node-proxy.ts';
import { HOMEPAGE, VERSION } from '../../version.ts';
import { completeView, notReady } from '../explain/explained-view.ts';

/** The response of /node: this node and its connections. */
export interface NodeDetails extends ResponseHead {
  /** URL of the documentation; undefined: it is not published. */
  readonly docs?: string;
  readonly node: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly communities: readonly string[];
  /** An annotation of the Node switches filtering off. */
  readonly off: boolean;
  /** All endpoints are shown, independent of policies. */
  readonly dryRun: boolean;
  /** Why there are no Services; undefined: there are Services. */
  readonly problem?: string;
  /** The first topology keys that policies use, those of labels of this node before others. */
  readonly keys: readonly KeyState[];
  /** Number of all of them. */
  readonly keyCount: number;
  /** The checks of /readyz. */
  readonly checks: readonly Check[];
  /** Why this node is not ready: one line for each cause, the one with the most failed checks first. */
  readonly causes: readonly ReadinessCause[];
  /** Undefined if endpoints are not corrected from the container runtime. */
  readonly localRuntime?: LocalRuntimeData;
  /** API servers. The first one is in use. */
  readonly servers: readonly string[];
  readonly failovers: number;
  readonly views: readonly ViewState[];
  readonly listeners: readonly {
    readonly name: string;
    readonly connections: number;
    readonly refused: number;
  }[];
  /** Watches that clients have open. */
  readonly watches: number;
  /** Changes of decisions since the view was opened. */
  readonly decisions: number;
}

/** What is corrected from the container runtime, in the view that kube-proxy reads. */
export interface LocalRuntimeData {
  /** `cutOff` while the API server is unreachable; `returning` until all corrections have ended. */
  readonly state: LocalRuntimeState;
  /** Why the runtime could not be read. */
  readonly problem?: string;
  /** The first of the corrected endpoints. */
  readonly corrected: readonly CorrectedEndpoint[];
  /** Number of all of them. */
  readonly count: number;
}

/** What a key means on this node, and which nodes match it. */
export interface KeyState {
  readonly key: string;
  readonly meaning: string;
  readonly matchesThisNode: boolean;
  /** Number of matching nodes, including this one; undefined: not watched. */
  readonly nodes?: number;
  /** The first matching nodes by name, without this one. */
  readonly neighbours: readonly string[];
}

export interface ViewState {
  /** Path and query string. */
  readonly query: string;
  readonly encoding: string;
  readonly objects: number;
  /** Active requests that read it, including watches. */
  readonly clients: number;
  /** Whether the view is complete and served. */
  readonly started: boolean;
  /** Whether the watch at the API server is open. */
  readonly connected: boolean;
  /** Whether it shows the snapshot from disk. */
  readonly fromDisk: boolean;
}

/** Maximum number of keys that are listed, apart from labels of this node: tenants may use any. */
const MAX_KEYS = 200;

/** Maximum number of neighbours that are named. The others are only counted. */
const MAX_NEIGHBOURS = 200;

/** Maximum number of corrected endpoints that are listed. */
const MAX_CORRECTED = 200;

/** The current state of this node and its connections. */
export function nodeDetails(proxy: ProxyState): NodeDetails {
  const { topology, policyResolver, listeners, views } = proxy;
  const { failover } = proxy.upstream;
  const { nodeContext } = topology;
  const { checks, data, causes } = healthOf(proxy);
  const keys = [...topology.policies.keysInUse()];
  const ownKeys = keys.filter((key) => nodeContext?.labels.has(key));
  const listedKeys = new Set([...ownKeys, ...keys.slice(0, MAX_KEYS)]);
  return {
    node: topology.nodeName,
    version: VERSION,
    data,
    docs: HOMEPAGE,
    labels: Object.fromEntries(nodeContext?.labels ?? []),
    communities: topology.communities(),
    off: nodeContext?.off ?? false,
    dryRun: policyResolver.settings.dryRun === true,
    problem: completeView(proxy) === undefined ? notReady(proxy).message : undefined,
    keys: Array.from(listedKeys, (key) => keyState(proxy, key)),
    keyCount: keys.length,
    checks,
    causes,
    localRuntime: localRuntimeData(proxy),
    servers: failover.servers.map(({ origin }) => origin),
    failovers: failover.switches,
    views: views.sources.map((source) => viewState(source, views.users(source))),
    listeners: listeners.handlers.map(({ name, listener: { connections, refused } }) => ({
      name,
      connections,
      refused,
    })),
    watches: listeners.watches,
    decisions: proxy.views.kubeProxy.endpoints?.projection.journal.count ?? 0,
  };
}

function localRuntimeData(proxy: ProxyState): LocalRuntimeData | undefined {
  const { localRuntime } = proxy;
  if (localRuntime === undefined) return undefined;
  const { state, problem } = localRuntime;
  const all = proxy.views.kubeProxy.endpoints?.corrector?.corrections() ?? [];
  const corrected = all.slice(0, MAX_CORRECTED);
  return { state, problem, corrected, count: all.length };
}

function keyState({ topology }: ProxyState, key: string): KeyState {
  const nodes = nodesOfKey(topology, key) ?? new Set<string>();
  const others = [...nodes].filter((node) => node !== topology.nodeName).sort();
  return { ...explainKey(topology, key), neighbours: others.slice(0, MAX_NEIGHBOURS) };
}

function viewState({ query, view, status }: ViewSource, clients: number): ViewState {
  return {
    query: queryPath(query),
    encoding: query.encoding,
    objects: view.size,
    clients,
    started: view.started,
    connected: status.connected,
    fromDisk: status.restoredFrom !== undefined,
  };
}
