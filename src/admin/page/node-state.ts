import { queryPath } from '../../proxy/api/query.ts';
import type { NodeProxy } from '../../proxy/node-proxy.ts';
import type { ViewSource } from '../../proxy/views/view-source.ts';
import { explainKey, nodesOfKey } from '../../topology/explain/explain-keys.ts';
import { HOMEPAGE } from '../../version.ts';
import { causesOf } from '../causes.ts';
import { notStarted } from '../explain/explained-service.ts';
import { findView, NO_VIEW } from '../explain/explained-view.ts';
import { readiness } from '../readiness.ts';
import { responseHead } from '../version-info.ts';
import type { KeyState, NodeState, ViewState } from './page-data.ts';

/** Maximum number of neighbours that are named. The others are only counted. */
const MAX_NEIGHBOURS = 200;

/** Maximum number of corrected endpoints that are listed. */
const MAX_CORRECTED = 200;

/** The current state of this node and its connections. */
export function nodeState(proxy: NodeProxy): NodeState {
  const { topology, policyResolver, failover, listeners, views } = proxy;
  const { nodeContext } = topology;
  const problem = problemOf(proxy);
  const head = responseHead(proxy);
  const checks = readiness(proxy);
  return {
    node: topology.nodeName,
    ...head,
    docs: HOMEPAGE,
    labels: Object.fromEntries(nodeContext?.labels ?? []),
    communities: topology.communities(),
    off: nodeContext?.off ?? false,
    dryRun: policyResolver.settings.dryRun === true,
    ...(problem === undefined ? {} : { problem }),
    keys: Array.from(topology.policies.keysInUse(), (key) => keyState(proxy, key)),
    checks,
    causes: causesOf(checks, head.data),
    ...localRuntimeData(proxy),
    servers: failover.servers.map(({ origin }) => origin),
    failovers: failover.switches,
    views: views.sources.map((source) => viewState(source, views.users(source))),
    listeners: listeners.handlers.map(({ name, listener: { connections, refused } }) => ({
      name,
      connections,
      refused,
    })),
    watches: listeners.watches,
  };
}

function localRuntimeData(proxy: NodeProxy): Pick<NodeState, 'localRuntime'> {
  const { localRuntime } = proxy;
  if (localRuntime === undefined) return {};
  const { state, problem } = localRuntime;
  const all = findView(proxy)?.source.corrector?.corrections() ?? [];
  const corrected = all.slice(0, MAX_CORRECTED);
  const why = problem === undefined ? {} : { problem };
  return { localRuntime: { state, ...why, corrected, count: all.length } };
}

function problemOf(proxy: NodeProxy): string | undefined {
  const view = findView(proxy);
  if (view === undefined) return NO_VIEW;
  return view.source.view.started ? undefined : notStarted(proxy).message;
}

function keyState({ topology }: NodeProxy, key: string): KeyState {
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
