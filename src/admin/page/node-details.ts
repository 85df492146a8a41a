import { explainKey, nodesOfKey } from '../../diagnosis/explain/explain-keys.ts';
import type { KeyExplanation } from '../../diagnosis/explain/explanation.ts';
import type { ListenerReading } from '../../diagnosis/reading/clients.ts';
import type { ViewReading } from '../../diagnosis/reading/collections.ts';
import type { NodeReader, NodeReading } from '../../diagnosis/reading/node-reading.ts';
import type { ResponseHead } from '../../diagnosis/reading/version-info.ts';
import type { CorrectedEndpoint } from '../../node/local-runtime/corrector.ts';
import type { LocalRuntime } from '../../node/local-runtime/local-runtime.ts';
import type { Topology } from '../../topology/state/topology.ts';
import { HOMEPAGE, VERSION } from '../../version.ts';

/** The response of /node: this node and its connections. */
export interface NodeDetails
  extends ResponseHead,
    Pick<
      NodeReading,
      'node' | 'communities' | 'off' | 'dryRun' | 'checks' | 'causes' | 'decisions'
    > {
  /** URL of the documentation; undefined: it is not published. */
  readonly docs?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Why there are no Services; undefined: there are Services. */
  readonly problem?: string;
  /** The first topology keys that policies use, those of labels of this node before others. */
  readonly keys: readonly KeyState[];
  /** Number of all of them. */
  readonly keyCount: number;
  /** Undefined if endpoints are not corrected from the container runtime. */
  readonly localRuntime?: LocalRuntimeData;
  /** API servers. The first one is in use. */
  readonly servers: readonly string[];
  readonly failovers: number;
  readonly views: readonly ViewState[];
  readonly listeners: readonly Pick<ListenerReading, 'name' | 'connections' | 'refused'>[];
  /** Watches that clients have open. */
  readonly watches: number;
}

/** What is corrected from the container runtime, in the view that kube-proxy reads. */
export interface LocalRuntimeData extends Pick<LocalRuntime, 'state' | 'problem'> {
  /** The first of the corrected endpoints. */
  readonly corrected: readonly CorrectedEndpoint[];
  /** Number of all of them. */
  readonly count: number;
}

/** What a key means on this node, and which nodes match it. */
export interface KeyState extends KeyExplanation {
  /** Some of the matching nodes, without this one, sorted. */
  readonly neighbours: readonly string[];
}

export interface ViewState extends Pick<ViewReading, 'objects' | 'clients' | 'started'> {
  /** Path and query string. */
  readonly query: string;
  readonly encoding: string;
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
export function nodeDetails(reader: NodeReader): NodeDetails {
  const { topology } = reader.proxy;
  const reading = reader.read();
  const { node, data, labels, communities, off, dryRun, checks, causes, decisions } = reading;
  const { servers, failovers } = reading.upstream;
  const { listeners, watches } = reading.clients;
  const keys = [...topology.policies.keysInUse()];
  const ownKeys = keys.filter((key) => labels.has(key));
  const listedKeys = new Set([...ownKeys, ...keys.slice(0, MAX_KEYS)]);
  return {
    node,
    version: VERSION,
    data,
    docs: HOMEPAGE,
    labels: Object.fromEntries(labels),
    communities,
    off,
    dryRun,
    problem: reading.incomplete,
    keys: Array.from(listedKeys, (key) => keyState(topology, key)),
    keyCount: keys.length,
    checks,
    causes,
    localRuntime: localRuntimeData(reader),
    servers: servers.map(({ origin }) => origin),
    failovers,
    views: reading.views.map(viewState),
    listeners: listeners.map(({ name, connections, refused }) => ({ name, connections, refused })),
    watches,
    decisions,
  };
}

function localRuntimeData({ proxy }: NodeReader): LocalRuntimeData | undefined {
  const { localRuntime, views } = proxy;
  if (localRuntime === undefined) return undefined;
  const { state, problem } = localRuntime;
  const { count = 0 } = views.kubeProxy.endpoints?.corrector ?? {};
  const corrected = views.kubeProxy.endpoints?.corrector?.corrections(MAX_CORRECTED) ?? [];
  return { state, problem, corrected, count };
}

function keyState(topology: Topology, key: string): KeyState {
  const nodes = nodesOfKey(topology, key);
  // Thousands of nodes may match each of many keys, and the page asks every 2 s: they are not sorted.
  const others = [...(nodes ?? [])].filter((node) => node !== topology.nodeName);
  const neighbours = others.slice(0, MAX_NEIGHBOURS).sort();
  return { ...explainKey(topology, key, nodes), neighbours };
}

function viewState({ path, query, objects, clients, started, status }: ViewReading): ViewState {
  return {
    query: path,
    encoding: query.encoding,
    objects,
    clients,
    started,
    connected: status.connected,
    fromDisk: status.restoredFrom !== undefined,
  };
}
