import { Histogram } from '@prometheus-io/client';
import type { Logger } from 'pino';
import {
  anyKubeProxyQueryTest,
  currentKubeProxyQueries,
  ownNodeQuery,
} from '../client/api/kube-proxy-queries.ts';
import type { Query } from '../client/api/query.ts';
import { DEFAULT_READ_LIMITS, type ReadLimits } from '../client/api/read-limits.ts';
import type { Credentials } from '../client/credentials/credentials.ts';
import { CollectionClient } from '../client/reflector/collection-client.ts';
import type { ReflectorContext } from '../client/reflector/reflector-options.ts';
import { SnapshotFolder, type SnapshotFolderOptions } from '../client/snapshot/snapshot-folder.ts';
import { assertStateFolder } from '../client/snapshot/state-folder.ts';
import { readBootId } from '../client/system/boot-id.ts';
import { OwnReadMemory } from '../client/system/read-memory.ts';
import { Upstream, type UpstreamOptions } from '../client/upstream/upstream.ts';
import { Batches } from '../filter/projection/batch.ts';
import type { LogBounds } from '../filter/view/event-log.ts';
import { VersionAllocator } from '../filter/view/version-allocator.ts';
import { LocalRuntime, type LocalRuntimeOptions } from '../node/local-runtime/local-runtime.ts';
import { NodeListFinder } from '../node/own-watches/node-list-finder.ts';
import { NodeSetReflectors } from '../node/own-watches/node-set-reflectors.ts';
import type { OpenCollection } from '../node/own-watches/open-collection.ts';
import { PolicyLog } from '../node/own-watches/policy-log.ts';
import { watchCluster } from '../node/own-watches/watch-cluster.ts';
import { type RelaySettings, readRelays } from '../node/relays/read-relays.ts';
import { RelayFinder } from '../node/relays/relay-finder.ts';
import { DecisionLog } from '../node/views/decision-log.ts';
import { ViewRegistry } from '../node/views/view-registry.ts';
import { PolicyResolver } from '../topology/policy/policy-resolver.ts';
import type { PolicySettings } from '../topology/policy/service-policy.ts';
import { Topology } from '../topology/state/topology.ts';
import type { TopologyMatchSettings } from '../topology/state/topology-match.ts';
import { type Clock, systemClock } from '../util/clock.ts';
import { closePart, startParts } from '../util/start-parts.ts';
import { waitUntilReadyToListen } from './hot-restart/hot-restart.ts';
import { checkListeners } from './serving/check-listeners.ts';
import { createListeners, type Listeners, type ListenersOptions } from './serving/listeners.ts';
import type { WatchTimes } from './serving/view-response.ts';

/*
 * The composition root. startNodeProxy builds the proxy from the bottom up:
 *
 * 1. connect: the connection to the API server, with fail-over, and what is on disk. Whatever can be wrong with the
 *    options is reported here.
 * 2. openViews: what this node knows of the cluster, what all reflectors share, and the views.
 * 3. createListeners: the listeners for clients. If another process has the ports, they wait (hot-restart.ts).
 *
 * All parts are closed by one stack, last first: at the end, and if any step fails.
 */

export interface NodeProxyOptions extends ListenersOptions, WatchTimes {
  readonly nodeName: string;
  /** Identifies the settings, for people. */
  readonly settingsRevision: string;
  readonly credentials: Credentials;
  readonly policies: PolicySettings;
  /** Whether annotations of Namespaces are read. */
  readonly namespacePolicies: boolean;
  readonly topologyMatch: TopologyMatchSettings;
  /** Name of this cluster in FabEdge's communities; undefined: these are not read. */
  readonly fabedgeCluster: string | undefined;
  /** Whether Services whose traffic all goes to the cloud are hidden. */
  readonly withholdsServices: boolean;
  readonly window: LogBounds;
  /** Maximum number of node sets that are watched at the same time. */
  readonly maxNodeSets: number;
  /** Decides when node sets that no policy needs are closed; default: the system clock. */
  readonly nodeSetClock?: Clock;
  readonly maxViews: number;
  readonly maxViewBytes: number;
  readonly idleViewMs: number;
  readonly readyWaitMs: number;
  /** The views of the process that this one replaces; default: what kube-proxy reads. */
  readonly queries?: readonly Query[];
  /** The views of the newest kube-proxy are opened this long after it listens, in milliseconds; default 30,000. */
  readonly defaultViewsMs?: number;
  /** Further API servers of the same cluster; see {@link Failover}. */
  readonly servers?: readonly URL[];
  /** Default: there are none. */
  readonly relays?: RelaySettings | undefined;
  /** See FailoverOptions; not if another process of this boot had these relays. */
  readonly relayWaitMs?: UpstreamOptions['relayWaitMs'];
  /** Id of this boot of the machine; default: it is read. */
  readonly bootId?: string;
  /** See FailoverOptions. */
  readonly returnMs?: number;
  /** See UpstreamOptions. */
  readonly quietMs?: number;
  /** Limits for what is read from the API server. */
  readonly readLimits?: ReadLimits;
  /** Where the last known state is kept over a restart; absent: it is not kept. */
  readonly state?: Omit<
    SnapshotFolderOptions,
    'nodeName' | 'serverAccess' | 'logger' | 'flushLastProcess'
  >;
  /** See SnapshotFolderOptions. */
  readonly flushLastProcess?: SnapshotFolderOptions['flushLastProcess'];
  /** The container runtime that endpoints of this node are corrected from while cut off; absent: they are not. */
  readonly localRuntime?: Pick<LocalRuntimeOptions, 'socket' | 'graceMs' | 'settleMs'>;
  /** Aborts the start until the proxy listens; default: the start is not aborted. */
  readonly signal?: AbortSignal;
  readonly logger: Logger;
}

/** What this node shows to clients, and what it is made from. */
export interface ShownState {
  readonly topology: Topology<OpenCollection>;
  readonly views: Omit<ViewRegistry, 'acquire' | 'openDefaultLater' | 'close'>;
  /** Namespaces and communities, if they are read. */
  readonly clusterWatchers: readonly OpenCollection[];
  /** The policies of Services, Namespaces and settings. */
  readonly policyResolver: PolicyResolver;
  readonly upstream: Upstream;
}

/** How this process works besides: clients, disk, container runtime. */
export interface ProcessState {
  /** The URL for clients: of plain http, or of https if there is no plain http. */
  readonly url: string;
  /** The https URL for clients; undefined: there is no https. */
  readonly httpsUrl: string | undefined;
  readonly listeners: Listeners;
  /** How long each batch of events took. */
  readonly eventHandling: Histogram;
  /** Undefined if nothing is kept on disk. */
  readonly snapshots: SnapshotFolder | undefined;
  /** Undefined if endpoints are not corrected from the container runtime. */
  readonly localRuntime: LocalRuntime | undefined;
  /** See NodeProxyOptions. */
  readonly settingsRevision: string;
}

/** All that the admin port may read of a running proxy. */
export interface ProxyState extends ShownState, ProcessState {}

/** The running proxy: everything between kube-proxy and the API server. */
export interface NodeProxy extends ProxyState {
  readonly views: ViewRegistry;
  /** Ends the watches of clients, then those at the API server, and waits for both. */
  close(): Promise<void>;
}

/** A kube-proxy that is running already connects sooner: client-go's longest pause is 30 s. */
const DEFAULT_VIEWS_MS = 30_000;

/**
 * Starts the proxy. If another process listens on the same addresses, waits until this one can answer as well.
 * Rejects with `InvalidSettings`, for example if a port is in use, and with the reason of the signal.
 */
export async function startNodeProxy(options: NodeProxyOptions): Promise<NodeProxy> {
  return await startParts((parts) => start(options, parts));
}

async function start(
  options: NodeProxyOptions,
  parts: AsyncDisposableStack,
): Promise<Omit<NodeProxy, 'close'>> {
  const { certificate, ...connected } = await connect(options, parts);
  const { apiServers } = connected;
  const shown = await openViews(options, connected, parts);
  const listeners = await createListeners(
    {
      ...options,
      serverAccess: apiServers.failover,
      upstream: apiServers,
      acquire: (query, caller) => shown.views.acquire(query, caller),
      onOtherNode: (name) => shown.views.kubeProxy.reportOtherNode(name),
    },
    certificate,
    parts,
  );
  const { http, https } = await listen(options, listeners, shown);
  shown.views.openDefaultLater(options.defaultViewsMs ?? DEFAULT_VIEWS_MS);
  return {
    ...shown,
    url: http ?? https ?? '',
    httpsUrl: https,
    listeners,
    settingsRevision: options.settingsRevision,
  };
}

/** Checks everything that can be wrong with the options, and creates the connection to the API server. */
async function connect(options: NodeProxyOptions, parts: AsyncDisposableStack) {
  const { state, relays, nodeName, logger } = options;
  if (state !== undefined) await assertStateFolder(state.folder);
  const line: UpstreamOptions = {
    credentials: options.credentials,
    servers: options.servers,
    returnMs: options.returnMs,
    list: (request, isRelay) => listOwnNode(options, request, isRelay),
    quietMs: options.quietMs,
    logger,
  };
  // What https callers send never goes to a relay.
  const apiServers = parts.adopt(new Upstream(line), closePart);
  const { flushLastProcess } = options;
  const { failover: serverAccess } = apiServers;
  const snapshots =
    state && new SnapshotFolder({ ...state, nodeName, serverAccess, flushLastProcess, logger });
  const { bootId = readBootId() } = options;
  // Without a snapshot a relay is waited for as long.
  const waitMs = options.relayWaitMs?.without;
  const found = relays && (await readRelays(relays, { snapshots, bootId, waitMs, logger }));
  const relayWaitMs = found?.haveBooted === true ? undefined : options.relayWaitMs;
  const upstream =
    found === undefined
      ? apiServers
      : parts.adopt(new Upstream({ ...line, relays: found, relayWaitMs }), closePart);
  const certificate = await checkListeners(options, upstream.failover.servers, logger);
  parts.adopt(certificate, closePart);
  return { upstream, apiServers, snapshots, remembered: found?.remembered, certificate };
}

type Connected = Awaited<ReturnType<typeof connect>>;

/** Creates the parts behind the listeners, and opens the watches that no client requests. Views open later. */
async function openViews(
  options: NodeProxyOptions,
  { upstream, apiServers, snapshots, remembered }: Omit<Connected, 'certificate'>,
  parts: AsyncDisposableStack,
) {
  const { policies, namespacePolicies: namespaces, fabedgeCluster, logger } = options;
  const { readLimits = DEFAULT_READ_LIMITS } = options;
  const localRuntime = parts.adopt(await openLocalRuntime(options, upstream), closePart);
  const policyResolver = new PolicyResolver(policies, namespaces);
  const policyLog = parts.adopt(new PolicyLog(logger), closePart);
  const decisionLog = parts.adopt(new DecisionLog(logger, systemClock), closePart);
  const reflecting = {
    upstream,
    versions: new VersionAllocator(Date.now()),
    readLimits,
    ownMemory: new OwnReadMemory(readLimits.maxListBytes),
    snapshots,
    logger,
  };
  const topology = createTopology(options, reflecting, apiServers, parts);
  const eventHandling = createEventHandling();
  // A dry run hides no Services. The topology still knows which ones it would hide.
  const hides = policies.dryRun !== true;
  const policing = { ...reflecting, topology, policyResolver, policyLog };
  const views = parts.adopt(
    new ViewRegistry({
      ...policing,
      batches: new Batches(topology),
      decisionLog,
      localRuntime,
      serviceFilter: hides ? policies.serviceFilter : undefined,
      withholdsServices: hides && options.withholdsServices,
      window: options.window,
      clock: systemClock,
      onHandled: (seconds) => eventHandling.observe(seconds),
      hasCallers: options.https !== undefined,
      idleMs: options.idleViewMs,
      maxViews: options.maxViews,
      maxViewBytes: options.maxViewBytes,
    }),
    closePart,
  );
  const clusterWatchers = watchCluster({ ...policing, namespaces, fabedgeCluster });
  for (const watcher of clusterWatchers) parts.adopt(watcher, closePart);
  const service = options.relays?.service;
  if (service !== undefined) {
    const { failover } = upstream;
    const finder = new RelayFinder({ service, views, topology, remembered, failover, logger });
    parts.adopt(finder, closePart);
  }
  // Before the views: what clients saw last is written, and nothing newer.
  parts.adopt(snapshots, closePart);
  return {
    topology,
    views,
    clusterWatchers,
    policyResolver,
    upstream,
    eventHandling,
    snapshots,
    localRuntime,
  };
}

/** Creates what this node knows of the cluster, with what reads Nodes for it. */
function createTopology(
  options: NodeProxyOptions,
  reflecting: ReflectorContext,
  apiServers: Upstream,
  parts: AsyncDisposableStack,
): Topology<OpenCollection> {
  const { nodeSetClock = systemClock } = options;
  const nodeSetWatcher = parts.adopt(new NodeSetReflectors(reflecting, nodeSetClock), closePart);
  const nodeFinder = parts.adopt(
    new NodeListFinder(reflecting, apiServers, nodeSetClock),
    closePart,
  );
  const topology = new Topology<OpenCollection>({
    nodeName: options.nodeName,
    topologyMatch: options.topologyMatch,
    declaredCommunities: options.fabedgeCluster !== undefined,
    namespaces: options.namespacePolicies,
    withholdsServices: options.withholdsServices,
    maxNodeSets: options.maxNodeSets,
    nodeSetWatcher,
    nodeFinder,
  });
  return parts.adopt(topology, closePart);
}

/** In the newest version, which needs etcd. A relay says so itself if it has lost the API server. */
async function listOwnNode(
  { nodeName, readLimits = DEFAULT_READ_LIMITS }: NodeProxyOptions,
  request: Upstream['request'],
  isRelay: boolean,
): Promise<void> {
  const query = { ...ownNodeQuery(nodeName), metadataOnly: !isRelay };
  const options = { query, readLimits, upstream: { request } };
  await new CollectionClient(options).list(isRelay ? '0' : '', new AbortController().signal);
}

/** Opens the container runtime. Its client is a large library, which other nodes do not load. */
async function openLocalRuntime(
  { localRuntime, nodeName, logger }: NodeProxyOptions,
  { serverState }: Upstream,
): Promise<LocalRuntime | undefined> {
  if (localRuntime === undefined) return undefined;
  const { createCriClient } = await import('../node/local-runtime/cri-client.ts');
  const runtime = createCriClient(localRuntime.socket);
  return new LocalRuntime({
    ...localRuntime,
    runtime,
    reachability: serverState,
    nodeName,
    clock: systemClock,
    logger,
  });
}

/** Listens, as soon as this process can answer as well as another one that listens on the same addresses. */
async function listen(
  options: NodeProxyOptions,
  listeners: Listeners,
  { views }: Pick<NodeProxy, 'views'>,
) {
  const { logger, signal = new AbortController().signal } = options;
  const { nodeName, queries = currentKubeProxyQueries(nodeName) } = options;
  const { addresses } = listeners;
  const isNeeded = anyKubeProxyQueryTest(nodeName);
  const acquire = (query: Query) => views.acquire(query);
  await waitUntilReadyToListen({ addresses, queries, isNeeded, acquire, logger, signal });
  signal.throwIfAborted();
  return listeners.listen();
}

/** A metric that events write; all others are read from the state of the proxy at a scrape. */
function createEventHandling(): Histogram {
  return new Histogram({
    name: 'kube_proxy_wrapper_event_handling_seconds',
    help: 'Time from the arrival of events of the API server until all resulting events were written to clients.',
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    registers: [],
  });
}
