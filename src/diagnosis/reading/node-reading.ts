import type { Query } from '../../client/api/query.ts';
import type { SnapshotFolder } from '../../client/snapshot/snapshot-folder.ts';
import type { Upstream } from '../../client/upstream/upstream.ts';
import type { LocalRuntime } from '../../node/local-runtime/local-runtime.ts';
import type { ViewBudget } from '../../node/views/view-budget.ts';
import type { ViewSource } from '../../node/views/view-source.ts';
import type { ProxyState } from '../../server/node-proxy.ts';
import { type ClientsReading, readClients } from './clients.ts';
import { completeView, notReady } from './complete-view.ts';
import { type Health, readHealth } from './health.ts';
import { ServiceCounts } from './service-tally.ts';

/*
 * The room `reading`: what the running node is, in one shape for all that show it. /status, /node, /summary and
 * /metrics only format a NodeReading, and /readyz its Health. Nothing here changes the proxy.
 *   node-reading.ts    the reading
 *   health.ts          whether this node is ready: collections.ts, data-age.ts, readiness.ts, causes.ts
 *   service-tally.ts   what kube-proxy sees of all Services, counted, and for how long numbers are shared
 *   clients.ts         listeners and their requests
 *   complete-view.ts   the view that kube-proxy reads
 *   version-info.ts    which wrapper answers
 */

/** What serves views: a wrapper, or a relay. */
export interface ServingReading extends Pick<Health, 'data' | 'views'> {
  /** Views refused or closed since the start, by the limit. */
  readonly budgetRefusals: Readonly<ViewBudget['refusals']>;
  readonly upstream: UpstreamReading;
  readonly clients: ClientsReading;
}

/** What a running node is now, in plain values. Only its Services are counted later, when something shows them. */
export interface NodeReading extends Health, ServingReading {
  /** Name of the Node. */
  readonly node: string;
  /** Identifies the settings in use. */
  readonly settings: string;
  /** All endpoints are shown, independent of policies. */
  readonly dryRun: boolean;
  /** An annotation of the Node switches filtering off. */
  readonly off: boolean;
  /** The value of this annotation, if it means nothing. */
  readonly wrongFilter: string | undefined;
  /** Labels of the Node; empty before it has been read. */
  readonly labels: ReadonlyMap<string, string>;
  /** Labels of the Node of this name that was deleted before the one that exists; undefined: none is known. */
  readonly lastLabels: ReadonlyMap<string, string> | undefined;
  /** Names of the communities of this node. */
  readonly communities: readonly string[];
  /** Query of the view that kube-proxy reads; undefined: it is not complete. */
  readonly view: Query | undefined;
  /** Why it is not complete. */
  readonly incomplete: string | undefined;
  readonly services: ServiceCounts;
  /** Number of Services that are hidden because all their traffic goes to the cloud. */
  readonly withheld: number;
  /** Changes of decisions since the view that kube-proxy reads was opened. */
  readonly decisions: number;
  readonly kubeProxy: KubeProxyReading;
  /** The last known state on disk; undefined: none is kept. */
  readonly snapshots: Pick<SnapshotFolder, 'problem' | 'bytes' | 'counters'> | undefined;
  /** Undefined if endpoints are not corrected from the container runtime. */
  readonly localRuntime:
    | Pick<LocalRuntime, 'socket' | 'state' | 'problem' | 'failures'>
    | undefined;
}

/** Whether kube-proxy uses this process. */
export interface KubeProxyReading {
  /** For how long no request has read the Services or endpoints that it reads, in milliseconds; 0: one does now. */
  readonly unusedMs: { readonly services: number; readonly endpoints: number };
  /** Whether a kube-proxy has read endpoints in the life of this process. */
  readonly hasRead: boolean;
  /** The Node that a kube-proxy waits for, if that is not the own one. */
  readonly otherNode: string | undefined;
  /** The URLs to point it at. */
  readonly urls: readonly string[];
}

/** The connection to the API server. */
export interface UpstreamReading {
  /** `host:port` of the server in use. */
  readonly address: string;
  /** The server in use is a relay. */
  readonly isRelay: boolean;
  /** There are relays for this node, or a mistake leaves none of them. */
  readonly hasRelays: boolean;
  /** Why the last attempt to use one failed, if that is known. */
  readonly relayFailure: string | undefined;
  /** Relays of a site that boots are waited for: nobody has answered yet. */
  readonly waitsForRelays: boolean;
  /** The server in use is a cache, which does not tell how old its data is. */
  readonly isCache: boolean;
  /** The server in use first. */
  readonly servers: readonly URL[];
  /** Number of switches to another server since the start. */
  readonly failovers: number;
  /** Bytes received since the start. */
  readonly receivedBytes: number;
}

/** For how long numbers of Services are shared, in milliseconds. Any local process can request them in a loop. */
const SHARED_MS = 1_000;

/**
 * Reads one node. A reading is as the node is now: probes and roll-outs depend on it, and a script that has waited for
 * one answer must not find an older state in the next. Only to count 10,000 Services takes milliseconds. So the numbers
 * are shared for a second, unless objects have changed since.
 */
export class NodeReader {
  readonly proxy: ProxyState;
  #services: ServiceCounts | undefined;

  constructor(proxy: ProxyState) {
    this.proxy = proxy;
  }

  read(): NodeReading {
    const { proxy } = this;
    const { topology, views, policyResolver } = proxy;
    const { nodeContext } = topology;
    const view = completeView(proxy)?.query;
    return {
      ...readHealth(proxy),
      node: topology.nodeName,
      settings: proxy.settingsRevision,
      dryRun: policyResolver.settings.dryRun === true,
      off: nodeContext?.off ?? false,
      wrongFilter: views.wrongNodeFilter,
      labels: nodeContext?.labels ?? new Map(),
      lastLabels: views.lastNodeLabels,
      communities: topology.communities(),
      view,
      incomplete: view === undefined ? notReady(proxy).message : undefined,
      services: this.#count(),
      withheld: topology.withheld?.size ?? 0,
      decisions: views.kubeProxy.endpoints?.projection.journal.count ?? 0,
      budgetRefusals: { ...views.budget.refusals },
      kubeProxy: readKubeProxy(proxy),
      upstream: readUpstream(proxy.upstream),
      clients: readClients(proxy.listeners),
      snapshots: readSnapshots(proxy),
      localRuntime: readLocalRuntime(proxy),
    };
  }

  #count(): ServiceCounts {
    const last = this.#services;
    const isRecent = last !== undefined && performance.now() - last.at < SHARED_MS;
    if (isRecent && last.batches === this.proxy.views.batches) return last;
    this.#services = new ServiceCounts(this.proxy);
    return this.#services;
  }
}

function readKubeProxy({ views, url, httpsUrl }: ProxyState): KubeProxyReading {
  const { services, endpoints, hasRead, otherNode } = views.kubeProxy;
  const unused = (source: ViewSource | undefined) =>
    source === undefined ? Infinity : views.unusedMs(source);
  return {
    unusedMs: { services: unused(services), endpoints: unused(endpoints) },
    hasRead,
    otherNode,
    urls: [...new Set([url, httpsUrl].filter((each) => each !== undefined))],
  };
}

export function readUpstream(upstream: Upstream): UpstreamReading {
  const { address, failover, serverState, receivedBytes } = upstream;
  const isThere = failover.servers.some((server) => failover.isRelay(server));
  return {
    address,
    isRelay: failover.isRelay(failover.servers[0]),
    hasRelays: isThere || failover.relayProblem !== undefined,
    relayFailure: failover.relayFailure,
    waitsForRelays: failover.waitsForRelays,
    isCache: serverState.isCache(address),
    servers: failover.servers,
    failovers: failover.switches,
    receivedBytes,
  };
}

function readSnapshots({ snapshots }: ProxyState): NodeReading['snapshots'] {
  if (snapshots === undefined) return undefined;
  const { problem, bytes, counters } = snapshots;
  return { problem, bytes, counters: structuredClone(counters) };
}

function readLocalRuntime({ localRuntime }: ProxyState): NodeReading['localRuntime'] {
  if (localRuntime === undefined) return undefined;
  const { socket, state, problem, failures } = localRuntime;
  return { socket, state, problem, failures };
}
