import type { Logger } from 'pino';
import { createJsonCodec } from '../filter/codec/json/codec.ts';
import { createProtobufCodec } from '../filter/codec/protobuf/codec.ts';
import type { Clock } from '../filter/projection/clock.ts';
import type { LogBounds } from '../filter/view/event-log.ts';
import { VersionAllocator } from '../filter/view/version-allocator.ts';
import { PolicyResolver } from '../topology/policy/policy-resolver.ts';
import type { PolicySettings } from '../topology/policy/service-policy.ts';
import { Topology } from '../topology/state/topology.ts';
import type { TopologyMatchSettings } from '../topology/state/topology-match.ts';
import { currentKubeProxyQueries } from './api/kube-proxy-queries.ts';
import type { Query } from './api/query.ts';
import { DEFAULT_READ_LIMITS, type ReadLimits } from './api/read-limits.ts';
import { ClusterWatchers } from './cluster/cluster-watchers.ts';
import { NodeSetWatcher } from './cluster/node-set-watcher.ts';
import { PolicyEvents } from './cluster/policy-events.ts';
import type { Credentials } from './credentials/credentials.ts';
import { waitUntilReadyToListen } from './hot-restart/hot-restart.ts';
import { createListeners, type Listeners, type ListenersOptions } from './server/listeners.ts';
import { SnapshotStore, type SnapshotStoreOptions } from './snapshot/snapshot-store.ts';
import { assertStateFolder } from './snapshot/state-folder.ts';
import { Failover } from './upstream/failover.ts';
import { createUpstream, type Upstream } from './upstream/upstream.ts';
import { OwnReadMemory } from './util/read-memory.ts';
import { systemClock } from './util/system-clock.ts';
import { ViewRegistry } from './views/view-registry.ts';

export interface NodeProxyOptions extends ListenersOptions {
  readonly nodeName: string;
  readonly credentials: Credentials;
  readonly policies: PolicySettings;
  /** Whether annotations of Namespaces are read. */
  readonly namespacePolicies: boolean;
  readonly topologyMatch: TopologyMatchSettings;
  /** Name of this cluster in FabEdge's communities; undefined: these are not read. */
  readonly fabedgeCluster: string | undefined;
  /** Whether Services whose traffic all goes to the cloud are hidden. */
  readonly cloudPassthrough: boolean;
  readonly window: LogBounds;
  /** Node sets that are watched at once. */
  readonly maxNodeSets: number;
  /** When node sets that no policy needs are closed; default: the machine's clock. */
  readonly nodeSetTime?: Clock;
  readonly maxViews: number;
  readonly maxViewBytes: number;
  readonly idleViewMs: number;
  readonly readyWaitMs: number;
  readonly bookmarkMs: number;
  readonly minWatchMs: number;
  /** What the process that is to be replaced has views for; default: what kube-proxy reads. */
  readonly queries?: readonly Query[];
  /** Write an Event on each Service whose policy is invalid. */
  readonly policyEvents?: boolean;
  /** Further API servers of the same cluster; see Failover. */
  readonly servers?: readonly URL[];
  /** After this long without a byte the API server is asked whether it is there; see Pulse. */
  readonly quietMs?: number;
  /** What is read of the API server at most; see Reflector. */
  readonly readBounds?: ReadLimits;
  /** Where the last known state is kept over a restart; absent: nowhere. */
  readonly state?: Omit<SnapshotStoreOptions, 'nodeName' | 'credentials' | 'logger'>;
  /** Ends the start as long as nothing listens; default: nothing does. */
  readonly signal?: AbortSignal;
  readonly logger: Logger;
}

/** The running proxy: everything between kube-proxy and the API server. */
export interface NodeProxy {
  /** Where clients reach it: by plain http, or, when there is no such door, by https. */
  readonly url: string;
  /** Where clients reach it by https; undefined: nowhere. */
  readonly httpsUrl: string | undefined;
  readonly topology: Topology;
  readonly views: ViewRegistry;
  readonly nodeSets: NodeSetWatcher;
  readonly clusterWatchers: ClusterWatchers;
  /** What Services, Namespaces and settings say. */
  readonly policyResolver: PolicyResolver;
  readonly upstream: Upstream;
  readonly listeners: Listeners;
  /** Whoever measures sets what is to be called with each time that it took to handle events; see Reflector. */
  readonly timing: { onHandled: (seconds: number) => void };
  /** Undefined when no Events are written. */
  readonly policyEvents: Pick<PolicyEvents, 'counts'> | undefined;
  /** Which API server is in use. */
  readonly failover: Failover;
  /** Undefined when nothing is kept on disk. */
  readonly snapshots: SnapshotStore | undefined;
  /** Ends the watches of clients, then those at the API server, and waits for both. */
  close(): Promise<void>;
}

/** What views do in a dry run. */
const HIDES_NOTHING = { serviceFilter: undefined, cloudPassthrough: false } as const;

/**
 * Builds the house and opens the doors; where another process has them open, when it can take over. Rejects
 * with `InvalidSettings`, also when a port is taken, and with the signal's reason.
 */
export async function startNodeProxy(options: NodeProxyOptions): Promise<NodeProxy> {
  const { nodeName, logger, servers = [], readBounds: bounds = DEFAULT_READ_LIMITS } = options;
  const { signal = new AbortController().signal } = options;
  if (options.state !== undefined) await assertStateFolder(options.state.folder);
  const credentials = new Failover({ ...options, servers });
  const codecs = { json: createJsonCodec(), protobuf: createProtobufCodec() };
  const clock = new VersionAllocator(Date.now());
  const topology = new Topology({
    ...options,
    declaredCommunities: options.fabedgeCluster !== undefined,
    namespaces: options.namespacePolicies,
  });
  const book = new PolicyResolver(options.policies, options.namespacePolicies);
  const upstream = createUpstream({
    ...{ credentials, logger },
    ...(options.quietMs === undefined ? {} : { quietMs: options.quietMs }),
    onOutcome: (server, outcome) => credentials.report(server, outcome),
    onFound: (server) => credentials.take(server),
  });
  credentials.probe = (server) => upstream.probe(server);
  const snapshots =
    options.state && new SnapshotStore({ ...options.state, nodeName, credentials, logger });
  const context = {
    ...{ upstream, clock, topology, book, logger, bounds, codecs, codec: codecs.protobuf },
    ...(snapshots && { snapshots }),
    ownMemory: new OwnReadMemory(bounds.maxListBytes),
  };
  // First, for it can fail; nothing is asked for before something listens.
  const listeners = await createListeners({
    ...options,
    ...{ credentials, codecs, upstream },
    acquire: (query, caller) => views.acquire(query, caller),
    times: options,
  }).catch(async (error: unknown) => {
    await upstream.close();
    credentials.close();
    throw error;
  });
  const policyEvents = options.policyEvents
    ? new PolicyEvents({ upstream, nodeName, logger })
    : undefined;
  const timing: NodeProxy['timing'] = { onHandled: () => {} };
  const { serviceFilter, dryRun } = options.policies;
  const { cloudPassthrough } = options;
  // A dry run hides nothing, but the world knows what it would.
  const hidden = dryRun === true ? HIDES_NOTHING : { serviceFilter, cloudPassthrough };
  const nodeSets = new NodeSetWatcher({ ...context, time: options.nodeSetTime ?? systemClock });
  const views = new ViewRegistry({
    ...options,
    ...context,
    policyEvents,
    onHandled: (seconds) => timing.onHandled(seconds),
    time: systemClock,
    ...hidden,
    hasCallers: options.https !== undefined,
    idleMs: options.idleViewMs,
  });
  const topologySources = new ClusterWatchers({
    ...context,
    namespaces: options.namespacePolicies,
    fabedgeCluster: options.fabedgeCluster,
  });
  const close = async (): Promise<void> => {
    await listeners.close();
    snapshots?.end();
    await Promise.all(
      [views, nodeSets, topologySources, policyEvents].map((each) => each?.close()),
    );
    await Promise.all([upstream.close(), snapshots?.close()]);
    credentials.close();
  };
  try {
    const { addresses } = listeners;
    const queries = options.queries ?? currentKubeProxyQueries(options.nodeName);
    const acquire = (query: Query) => views.acquire(query);
    await waitUntilReadyToListen({ addresses, queries, acquire, logger, signal });
    signal.throwIfAborted();
    const { http, https } = await listeners.listen();
    const urls = { url: http ?? https ?? '', httpsUrl: https };
    return {
      ...{
        ...urls,
        topology,
        views,
        nodeSets,
        clusterWatchers: topologySources,
        policyResolver: book,
        upstream,
        listeners,
        snapshots,
        close,
      },
      ...{ policyEvents, timing, failover: credentials },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
