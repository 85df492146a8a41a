import { DEFAULT_READ_LIMITS } from '../client/api/read-limits.ts';
import type { NodeProxyOptions } from '../server/node-proxy.ts';
import type { PolicySettings, ServiceFilter } from '../topology/policy/service-policy.ts';
import { listenersOptions } from './listener-options.ts';
import type { Settings } from './settings.ts';
import { settingsRevision } from './settings-revision.ts';
import { VIEW_BOUNDS } from './view-bounds.ts';

/** A watch without timeoutSeconds lasts at least this long, in milliseconds, as at kube-apiserver. */
const MIN_WATCH_MS = 30 * 60_000;
/**
 * How long a request waits for its view, in milliseconds. client-go sends it again after the 503, and then waits
 * longer.
 */
const NODE_READY_WAIT_MS = 5_000;
/**
 * A client that reads nothing for this long is disconnected, in milliseconds. A living one is late by seconds at most.
 */
const STALLED_CLIENT_MS = 60_000;
/** Long-term average that each view may write to disk: 3 TB in a year on flash that lasts for 100 TB and more. */
const STATE_WRITE_BYTES_PER_SECOND = 100_000;
/** How long the wrapper waits at its start for the API server before it uses the state on disk, in milliseconds. */
const STATE_GRACE_MS = 1_000;

/** How long a start waits for relays of a site that boots, in milliseconds, and for how long it is spread. */
const RELAY_WAIT_MS = 60_000;
const RELAY_WAIT_SPREAD_MS = 30_000;
/** The same if there is nothing to show meanwhile. */
const RELAY_WAIT_WITHOUT_MS = 5_000;

/**
 * How long the start of the first process on this node waits for relays. A ClusterIP leads nowhere before kube-proxy
 * has rules, and nobody knows whether such relays boot.
 */
export function relayWait({ stateDir, relays }: Settings): NodeProxyOptions['relayWaitMs'] {
  if (relays?.service === undefined) return undefined;
  const without = RELAY_WAIT_WITHOUT_MS;
  const long = RELAY_WAIT_MS + RELAY_WAIT_SPREAD_MS * Math.random();
  return { without, withSnapshot: stateDir === undefined ? without : long };
}

/** Translates the settings into options of the proxy. The caller adds credentials and logger. */
export function nodeProxyOptions(
  settings: Settings,
): Omit<NodeProxyOptions, 'credentials' | 'logger'> {
  const { communities, edge, cloud } = settings;
  const { http, https, listenerLimits } = listenersOptions(settings);
  return {
    nodeName: settings.nodeName,
    settingsRevision: settingsRevision(settings),
    http,
    https,
    listenerLimits,
    policies: policySettings(settings),
    namespacePolicies: settings.namespacePolicies,
    topologyMatch: { communities, edge: edge.labelSelector },
    fabedgeCluster: communities.fabedgeCluster,
    withholdsServices: cloud.mode === 'passthrough',
    window: VIEW_BOUNDS.window,
    maxNodeSets: settings.maxNodeSets,
    maxViews: settings.maxViews,
    maxViewBytes: settings.maxViewBytes,
    idleViewMs: VIEW_BOUNDS.idleViewMs,
    readyWaitMs: NODE_READY_WAIT_MS,
    bookmarkMs: VIEW_BOUNDS.bookmarkMs,
    minWatchMs: MIN_WATCH_MS,
    writeTimeoutMs: STALLED_CLIENT_MS,
    servers: settings.servers,
    relays: settings.relays,
    returnMs: VIEW_BOUNDS.returnMs,
    readLimits: { ...DEFAULT_READ_LIMITS, maxListBytes: settings.maxListBytes },
    state: stateOptions(settings),
    localRuntime:
      settings.localRuntime === undefined ? undefined : { socket: settings.localRuntime },
  };
}

function stateOptions({ stateDir, stateMaxBytes }: Settings): NodeProxyOptions['state'] {
  if (stateDir === undefined) return undefined;
  return {
    folder: stateDir,
    maxBytes: stateMaxBytes,
    writeBytesPerSecond: STATE_WRITE_BYTES_PER_SECOND,
    graceMs: STATE_GRACE_MS,
  };
}

function policySettings(settings: Settings): PolicySettings {
  return {
    defaults: settings.defaultTopologyKeys,
    allowedTopologyKeys: settings.allowedTopologyKeys,
    headless: settings.headless,
    compatibility: settings.compatibility,
    minReady: new Map(Object.entries(settings.minReady)),
    dryRun: settings.dryRun,
    serviceFilter: readServiceFilter(settings.serviceFilter),
    relayService: settings.relays?.service,
  };
}

/** EdgeMesh's mode names the Services that EdgeMesh leaves to kube-proxy. Only these stay visible. */
function readServiceFilter(filter: Settings['serviceFilter']): ServiceFilter | undefined {
  if (filter === undefined) return undefined;
  const { label, mode } = filter;
  return { label, hides: mode === 'FilterIfLabelExists' ? 'unlabelled' : 'labelled' };
}
