import { questionPath } from '../../proxy/api/query.ts';
import type { NodeProxy } from '../../proxy/node-proxy.ts';
import type { ViewSource } from '../../proxy/views/view-source.ts';
import { explainKey, nodesOfKey } from '../../topology/explain/explain-keys.ts';
import { notStarted } from '../explain/explained-service.ts';
import { findView } from '../explain/explained-view.ts';
import { readiness } from '../readiness.ts';
import type { KeyState, NodeState, ViewState } from './page-data.ts';

/** Neighbours that are named; the others are counted. */
const MAX_NEIGHBOURS = 200;

/** This node, and what it is connected to, as of now. */
export function nodeState(proxy: NodeProxy): NodeState {
  const { world, book, failover, doors, views } = proxy;
  const { standpoint } = world;
  const problem = problemOf(proxy);
  return {
    node: world.nodeName,
    labels: Object.fromEntries(standpoint?.labels ?? []),
    communities: world.communities(),
    off: standpoint?.off ?? false,
    dryRun: book.settings.dryRun === true,
    ...(problem === undefined ? {} : { problem }),
    keys: Array.from(world.policies.keysInUse(), (key) => keyState(proxy, key)),
    checks: readiness(proxy),
    servers: failover.servers.map(({ origin }) => origin),
    failovers: failover.switches,
    views: views.sources.map((source) => viewState(source, views.users(source))),
    listeners: doors.listeners.map(({ name, door: { connections, refused } }) => ({
      name,
      connections,
      refused,
    })),
    watches: doors.watches,
  };
}

function problemOf(proxy: NodeProxy): string | undefined {
  const view = findView(proxy);
  if (view === undefined) {
    return `no client has asked for endpoints yet; the kubeconfig of kube-proxy has to name server: ${proxy.url}`;
  }
  return view.source.view.started ? undefined : notStarted(proxy).message;
}

function keyState({ world }: NodeProxy, key: string): KeyState {
  const nodes = nodesOfKey(world, key) ?? new Set<string>();
  const others = [...nodes].filter((node) => node !== world.nodeName).sort();
  return { ...explainKey(world, key), neighbours: others.slice(0, MAX_NEIGHBOURS) };
}

function viewState({ question, view, status }: ViewSource, clients: number): ViewState {
  return {
    question: questionPath(question),
    encoding: question.encoding,
    objects: view.size,
    clients,
    started: view.started,
    connected: status.connected,
    fromDisk: status.restoredFrom !== undefined,
  };
}
