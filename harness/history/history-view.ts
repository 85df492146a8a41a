import {
  expectedView,
  type ModelService,
  type ModelSettings,
  type ModelSlice,
  type Shown,
} from './expected-view.ts';
import { historyPorts } from './history-objects.ts';
import type { ClusterState } from './timeline.ts';

/** What a decision depends on, besides the slices. */
type World = Pick<ClusterState, 'self' | 'nodes' | 'services'>;

/** The defaults of the wrapper. */
export const DEFAULT_SETTINGS: ModelSettings = {
  defaults: [],
  namespaces: false,
  compatibility: false,
  headless: false,
  hides: undefined,
  passthrough: false,
  edge: 'node-role.kubernetes.io/edge',
  sources: { nodeLabels: [], labelPrefix: 'community.kube-proxy-wrapper.io/', labelValues: [] },
  minReady: {},
};

/** A Service with these topology keys, or (undefined) without. */
export function historyService(topologyKeys: string | undefined, version: number): ModelService {
  return {
    annotations: topologyKeys === undefined ? {} : { topologyKeys },
    labels: {},
    local: undefined,
    hints: false,
    headless: false,
    ports: historyPorts.map(({ name }) => `TCP/${name}`),
    families: ['IPv4'],
    version,
  };
}

/** What a node sees of these slices, by their keys. Slices of hidden Services are not in it. */
export function viewOf(
  { self: labels, nodes, services }: World,
  self: string,
  slices: ReadonlyMap<string, ModelSlice>,
): Map<string, Shown> {
  const cluster = {
    nodes: new Map([...nodes, [self, labels] as const]),
    off: false,
    communities: new Map(),
    namespaces: new Map(),
    services,
    slices,
  };
  return expectedView(cluster, self, DEFAULT_SETTINGS);
}

/** What an informer on a node must hold, by key: the sorted addresses, ` notReady` behind those that are not. */
export function rowsOf(
  state: ClusterState,
  self: string,
  resource: string,
): Map<string, readonly string[]> {
  if (resource === 'endpoints') {
    return new Map(
      Array.from(state.endpoints, ([key, subsets]) => {
        const parts = new Map(subsets.map((subset, index) => [`${index}`, subset]));
        return [key, rowOf(viewOf(state, self, parts).values())] as const;
      }),
    );
  }
  const view = viewOf(state, self, state.slices);
  return new Map(Array.from(view, ([key, shown]) => [key, rowOf([shown])] as const));
}

function rowOf(shown: Iterable<Shown>): string[] {
  return Array.from(shown)
    .flatMap(({ endpoints }) => endpoints)
    .map(({ address, state }) => (state === 'ready' ? `${address}` : `${address} notReady`))
    .sort();
}

/**
 * Where kube-proxy sends connections to a Service's port: to the ready endpoints of the view that have the port, else
 * to those that still serve; as sorted `ip:port`.
 */
export function asBackends(
  view: ReadonlyMap<string, Shown>,
  service: string,
  port: { readonly name: string; readonly number: number },
): string[] {
  const usable = [...view.values()].flatMap(({ slice, endpoints }) => {
    const isRead = slice.service === service && slice.family === 'IPv4';
    return isRead && slice.ports.includes(`TCP/${port.name}`) ? endpoints : [];
  });
  const inState = (wanted: string) => usable.filter(({ state }) => state === wanted);
  const good = inState('ready').length > 0 ? inState('ready') : inState('serving');
  return good.map(({ address }) => `${address}:${port.number}`).sort();
}
