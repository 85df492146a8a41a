import { parseLabelSelector } from '../../../src/topology/policy/label-selector.ts';
import type { PolicySettings } from '../../../src/topology/policy/service-policy.ts';
import type { NodeFinder } from '../../../src/topology/state/node-lookups.ts';
import type { NodeSetWatcher } from '../../../src/topology/state/node-set.ts';
import type { TopologyOptions } from '../../../src/topology/state/topology.ts';
import type { Clock } from '../../../src/util/clock.ts';
import { stillClock } from '../clocks.ts';

/** Node sets whose members a test sets. A watch is open as long as its set. */
export function notWatched(clock: Clock): NodeSetWatcher {
  const watch = { status: { connected: true }, close: () => Promise.resolve() };
  return { clock, open: () => watch, onOverLimit: () => undefined };
}

/** Nodes whose look-ups are never answered. */
export function notFound(clock: Clock): NodeFinder {
  return { clock, find: () => undefined, onTooMany: () => undefined };
}

/** A topology in which nodes match by labels only. */
export const PLAIN_TOPOLOGY: Omit<TopologyOptions, 'nodeName'> = {
  topologyMatch: {
    communities: { nodeLabels: [], labelPrefix: '', labelValues: [] },
    edge: parseLabelSelector('node-role.kubernetes.io/edge'),
  },
  declaredCommunities: false,
  namespaces: false,
  withholdsServices: false,
  nodeSetWatcher: notWatched(stillClock),
  nodeFinder: notFound(stillClock),
};

/** Settings under which a Service has a policy only by its own annotation. */
export const NO_POLICY: PolicySettings = {
  defaults: { keys: [] },
  allowedTopologyKeys: ['*'],
  headless: false,
  compatibility: [],
  minReady: new Map(),
};
