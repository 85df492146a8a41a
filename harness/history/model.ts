import {
  expectedView,
  type ModelGroup,
  type ModelSettings,
  type ModelService as OracleService,
} from './expected-view.ts';

/** Labels of a Node. */
export type ModelLabels = Readonly<Record<string, string>>;

export interface ModelService {
  /** The value of the annotation. */
  readonly topologyKeys: string | undefined;
  readonly headless?: boolean;
  readonly internalLocal?: boolean;
  /** Number of the write, in an annotation: an object of a client shows from which write it comes. */
  readonly seq: number;
}

/** How an endpoint is, by its conditions. `unknown` has none; `ended` terminates and serves no more. */
export type ModelState = 'ready' | 'unknown' | 'serving' | 'notReady' | 'ended';

export interface ModelEndpoint {
  readonly address: string;
  readonly node: string | undefined;
  readonly zone: string | undefined;
  readonly state: ModelState;
}

/** An EndpointSlice, which has one group of endpoints that share their ports, or an Endpoints object. */
export interface ModelObject {
  /** `namespace/name` of its Service. */
  readonly service: string;
  readonly groups: readonly {
    readonly ports: readonly string[];
    readonly endpoints: readonly ModelEndpoint[];
  }[];
  /** See {@link ModelService.seq}. */
  readonly seq: number;
}

/** What a decision depends on, by name or `namespace/name`. */
export interface ModelWorld {
  /** Labels of the own node, and of the others. */
  readonly self: ModelLabels;
  readonly nodes: ReadonlyMap<string, ModelLabels>;
  readonly services: ReadonlyMap<string, ModelService>;
}

/** By the object's key, the endpoints that the node sees of it. Objects of hidden Services are not in it. */
export type ModelView = ReadonlyMap<string, readonly ModelEndpoint[]>;

const NO_ANNOTATIONS: ModelLabels = {};
/** Names of the ports of every Service of a history. */
const SERVICE_PORTS = ['http', 'admin'];

/** The defaults of the wrapper. */
const SETTINGS: ModelSettings = {
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

/** What a node sees of these slices, or of these Endpoints objects. */
export function viewOf(
  { self: labels, nodes, services }: ModelWorld,
  self: string,
  objects: ReadonlyMap<string, ModelObject>,
): ModelView {
  const cluster = {
    nodes: new Map([...nodes, [self, labels] as const]),
    off: false,
    communities: new Map(),
    namespaces: new Map(),
    services: new Map([...services].map(([key, service]) => [key, describe(service)] as const)),
    slices: new Map([...objects].flatMap(([key, object]) => groupsOf(key, object))),
  };
  const view = new Map<string, ModelEndpoint[]>();
  for (const [, { slice, endpoints }] of expectedView(cluster, self, SETTINGS)) {
    const seen = view.get(slice.object) ?? [];
    view.set(slice.object, [...seen, ...endpoints.map(({ endpoint }) => endpoint)]);
  }
  return view;
}

function describe({
  topologyKeys,
  headless = false,
  internalLocal = false,
}: ModelService): OracleService {
  return {
    annotations: topologyKeys === undefined ? NO_ANNOTATIONS : { topologyKeys },
    labels: {},
    local: internalLocal ? 'internal' : undefined,
    hints: false,
    headless,
    ports: SERVICE_PORTS,
    families: ['IPv4'],
    version: 1,
  };
}

/** An endpoint as the oracle reads it. */
interface Candidate {
  readonly node: string;
  readonly zone: string;
  readonly state: 'ready' | 'serving' | 'gone';
  readonly endpoint: ModelEndpoint;
}

interface Group extends ModelGroup<Candidate> {
  /** Key of its object. */
  readonly object: string;
}

/** The endpoints of an object by ports and family. An object without any has a group too, so that it is in the view. */
function groupsOf(key: string, { service, groups }: ModelObject): [string, Group][] {
  const parts = groups.flatMap(({ ports, endpoints }) =>
    (['IPv4', 'IPv6'] as const).map((family) => {
      const own = endpoints.filter(({ address }) => address.includes(':') === (family === 'IPv6'));
      return { object: key, service, family, ports, endpoints: own.map(candidateOf) };
    }),
  );
  const none = { object: key, service, family: 'IPv4' as const, ports: [], endpoints: [] };
  return [none, ...parts].map((part, index) => [`${key} ${index}`, part]);
}

function candidateOf(endpoint: ModelEndpoint): Candidate {
  const { node = '', zone = '' } = endpoint;
  const state = isReady(endpoint) ? 'ready' : isServing(endpoint) ? 'serving' : 'gone';
  return { node, zone, state, endpoint };
}

function isReady({ state }: ModelEndpoint): boolean {
  return state === 'ready' || state === 'unknown';
}

function isServing({ state }: ModelEndpoint): boolean {
  return state === 'serving';
}

/** A view as an informer shows it: by key the sorted addresses, ` notReady` behind those that are not. */
export function asRows(view: ModelView): Map<string, readonly string[]> {
  const text = (endpoint: ModelEndpoint) =>
    isReady(endpoint) ? endpoint.address : `${endpoint.address} notReady`;
  return new Map(
    Array.from(view, ([key, endpoints]) => [key, endpoints.map(text).sort()] as const),
  );
}

/**
 * Where kube-proxy sends connections to a Service's port: to the ready endpoints of the view that have the
 * port, else to those that still serve; as sorted `ip:port`.
 */
export function asBackends(
  view: ModelView,
  slices: ReadonlyMap<string, ModelObject>,
  service: string,
  port: { readonly name: string; readonly number: number },
): string[] {
  const seen = Array.from(slices).flatMap(([key, slice]) =>
    slice.service === service && slice.groups.some(({ ports }) => ports.includes(port.name))
      ? (view.get(key) ?? [])
      : [],
  );
  const usable = seen.filter(({ address }) => !address.includes(':'));
  const good = usable.some(isReady) ? usable.filter(isReady) : usable.filter(isServing);
  return good.map(({ address }) => `${address}:${port.number}`).sort();
}
