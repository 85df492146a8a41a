import { ownNodeQuery } from '../../client/api/kube-proxy-queries.ts';
import { type Query, queryPath } from '../../client/api/query.ts';
import type { ShownState } from '../../server/node-proxy.ts';

/** Name of the check that fails if there is no Node of this name. */
export const OWN_NODE = 'own-node';
/** How the names of checks of node sets begin. */
export const NODE_SET_PREFIX = 'nodes ';

export function nodeSetName(selector: string): string {
  return `${NODE_SET_PREFIX}${selector}`;
}

export function viewName(query: Query): string {
  return `view ${query.encoding} ${queryPath(query)}`;
}

export function sourceName(path: string): string {
  return `source ${path}`;
}

/** What views wait for before they start: one thing at a time. */
export interface StartWait {
  /** Name of its check; undefined: it has none. */
  readonly check?: string;
  readonly what: string;
}

/** What views of Services and endpoints wait for first, once they have been listed themselves. */
export function startWait(proxy: ShownState): StartWait {
  const { views, topology, clusterWatchers } = proxy;
  if (topology.nodeContext === undefined && !views.ownNodeExists) {
    return { check: OWN_NODE, what: 'the Node of this wrapper' };
  }
  const source = clusterWatchers.find(({ status }) => !isRead(status));
  if (source !== undefined) {
    const path = queryPath(source.query);
    return { check: sourceName(path), what: path };
  }
  const sets = [...topology.nodeSets.values()];
  const syncing = sets.find(({ state, needed }) => needed && state === 'syncing');
  if (syncing !== undefined) {
    const { selector } = syncing;
    return { check: nodeSetName(selector), what: `the nodes with ${selector}` };
  }
  const unread = views.sources.find(
    (source) => !isRead(source.status) && views.refusalOf(source) === undefined,
  );
  return unread === undefined
    ? { what: 'the zones of nodes' }
    : { check: viewName(unread.query), what: unread.query.resource.plural };
}

/** Name of the check of the view with the own Node, if that has not been read yet. */
export function unreadOwnNode({ views, topology }: ShownState): string | undefined {
  const path = queryPath(ownNodeQuery(topology.nodeName));
  const source = views.sources.find(({ query }) => queryPath(query) === path);
  return source === undefined || isRead(source.status) ? undefined : viewName(source.query);
}

function isRead({ synced, restoredFrom }: ViewStatus): boolean {
  return synced || restoredFrom !== undefined;
}

type ViewStatus = ShownState['views']['sources'][number]['status'];
