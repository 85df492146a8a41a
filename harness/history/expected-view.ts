/**
 * What a node must see, written literally from the rules in docs/policies.md: the one oracle of unit, integration and
 * end-to-end tests. It is slow, has no memory of earlier states, and shares no code with src.
 */

/** Settings of a run. */
export interface ModelSettings {
  /** Default topology keys: an array, or the name of a preset. */
  readonly defaults: readonly string[] | string;
  readonly namespaces: boolean;
  readonly compatibility: boolean;
  readonly headless: boolean;
  /** Services that kube-proxy does not see: those with the label `mesh`, or those without. */
  readonly hides: 'labelled' | 'unlabelled' | undefined;
  readonly passthrough: boolean;
  readonly edge: keyof typeof EDGE_NODES;
  readonly sources: CommunitySources;
  readonly minReady: Readonly<Record<string, number>>;
  /** Default: there is always room. The model does not know which sets have room. */
  readonly maxNodeSets?: number;
}

export type Labels = Readonly<Record<string, string>>;

/** Selectors for edge nodes, and what each means. */
export const EDGE_NODES = {
  role: ({ role }: Labels) => role !== undefined,
  'role in (edge,far)': ({ role }: Labels) => role === 'edge' || role === 'far',
  'role,lab!=yes': ({ role, lab }: Labels) => role !== undefined && lab !== 'yes',
  'node-role.kubernetes.io/edge': (labels: Labels) =>
    labels['node-role.kubernetes.io/edge'] !== undefined,
} as const;

export interface ModelEndpoint {
  readonly address: number | string;
  readonly node: string;
  readonly zone: string;
  readonly state: 'ready' | 'serving' | 'gone';
  /** Default: it is if it is serving. */
  readonly terminating?: boolean | undefined;
  /** True: it has no conditions, which means that it is ready. */
  readonly unknown?: boolean;
}

/** The parts of an endpoint that decide whether it is shown; one without an address has no copies. */
type Candidate = Omit<ModelEndpoint, 'address'> & Partial<Pick<ModelEndpoint, 'address'>>;

/** Endpoints of one address family that share their ports: a slice, or a part of an Endpoints object. */
export interface ModelGroup<Endpoint extends Candidate = ModelEndpoint> {
  readonly service: string;
  readonly family: 'IPv4' | 'IPv6';
  readonly ports: readonly string[];
  /** The number of all its ports; default: one for all slices. */
  readonly number?: number | undefined;
  readonly endpoints: readonly Endpoint[];
}

export interface ModelSlice extends ModelGroup {
  readonly version: number;
}

export interface ModelService {
  readonly annotations: Labels;
  readonly labels: Labels;
  /** Which of its traffic policies is Local. */
  readonly local: 'internal' | 'external' | undefined;
  /** It has a trafficDistribution. */
  readonly hints: boolean;
  readonly headless: boolean;
  /** Of its spec, e.g. `TCP/a`. */
  readonly ports: readonly string[];
  /** Default: both. */
  readonly families?: readonly string[];
  readonly version: number;
}

/** The cluster at one moment. Never changed: a step makes another one. */
export interface ModelCluster {
  readonly nodes: ReadonlyMap<string, Labels>;
  /** Annotation of the own node. */
  readonly off: boolean;
  /** Members of declared communities. */
  readonly communities: ReadonlyMap<string, readonly string[]>;
  /** Annotation topologyKeys of namespaces that have one. */
  readonly namespaces: ReadonlyMap<string, string>;
  readonly services: ReadonlyMap<string, ModelService>;
  readonly slices: ReadonlyMap<string, ModelSlice>;
}

export const OWN = 'own';
export const HOST = 'kubernetes.io/hostname';
export const ZONE = 'topology.kubernetes.io/zone';
export const COMMUNITY = 'kube-proxy-wrapper.io/community';
export const CLOUD = 'kube-proxy-wrapper.io/cloud';

/** Where communities come from besides declarations. */
interface CommunitySources {
  readonly nodeLabels: readonly string[];
  readonly labelPrefix: string;
  readonly labelValues: readonly string[];
}

type Keys = { readonly keys: readonly string[]; readonly edgeOnly: boolean };
export type ModelPolicy =
  | 'hidden'
  | 'all'
  | (Keys & {
      readonly minReady: Labels | Counts;
      readonly keepsLocal: boolean;
      readonly headless: boolean;
    });
/** The families and ports that count, e.g. `IPv4 TCP/a`; undefined: the families and ports of the slices. */
type Ports = readonly string[] | undefined;
type Counts = Readonly<Record<string, number>>;

const PRESETS: Readonly<Record<string, Keys>> = {
  'fab-proxy': { keys: [HOST, CLOUD], edgeOnly: true },
  'fab-proxy-community': { keys: [HOST, COMMUNITY, CLOUD], edgeOnly: true },
  'prefer-same-node': { keys: [HOST, ZONE, '*'], edgeOnly: false },
  'prefer-same-zone': { keys: [ZONE, '*'], edgeOnly: false },
  'same-zone-only': { keys: [ZONE], edgeOnly: false },
};

/** The policy of a Service; an invalid annotation leaves it unfiltered. */
export function policyOf(
  key: string,
  cluster: Pick<ModelCluster, 'services' | 'namespaces'>,
  settings: ModelSettings,
): ModelPolicy {
  const service = cluster.services.get(key);
  if (service === undefined) return 'all';
  const { annotations } = service;
  const apiserver = key === 'default/kubernetes';
  const labelled = service.labels.mesh !== undefined;
  if (!apiserver && settings.hides === (labelled ? 'labelled' : 'unlabelled')) return 'hidden';
  // A dry run shows all that no other proxy serves.
  if (annotations['kube-proxy-wrapper.io/filter'] !== undefined) return 'all';
  if (service.local === 'internal' || (service.headless && !settings.headless)) return 'all';
  const namespace = cluster.namespaces.get(key.split('/')[0] ?? '');
  let chosen: Keys | 'bad' | undefined;
  const written = annotations['kube-proxy-wrapper.io/topology-keys'] ?? annotations.topologyKeys;
  if (written !== undefined) chosen = readKeys(written);
  else chosen = settings.compatibility ? readOthers(annotations) : undefined;
  if (chosen === undefined && service.hints) return 'all';
  if (chosen === undefined && !apiserver) {
    const useNamespace = settings.namespaces && namespace !== undefined;
    chosen = readKeys(useNamespace ? namespace : settings.defaults);
  }
  if (chosen === undefined || chosen === 'bad' || chosen.keys.length === 0) return 'all';
  const own = annotations['kube-proxy-wrapper.io/min-ready'];
  if (own === 'nonsense') return 'all';
  const minReady = {
    ...settings.minReady,
    ...(own === undefined ? {} : (JSON.parse(own) as Counts)),
  };
  const { headless } = service;
  return { ...chosen, minReady, keepsLocal: service.local === 'external', headless };
}

/** kube-proxy takes families and ports from the Service; who reads a headless one takes them from its slices. */
export function portsFor(key: string, { services }: Pick<ModelCluster, 'services'>): Ports {
  const service = services.get(key);
  if (service === undefined || service.headless) return undefined;
  const { ports, families = ['IPv4', 'IPv6'] } = service;
  return families.flatMap((family) => ports.map((port) => `${family} ${port}`));
}

function readKeys(written: readonly string[] | string): Keys | 'bad' {
  if (typeof written !== 'string') return { keys: written, edgeOnly: false };
  const preset = PRESETS[written];
  if (preset !== undefined) return preset;
  try {
    const keys = JSON.parse(written) as unknown;
    return isKeyList(keys) ? { keys, edgeOnly: false } : 'bad';
  } catch {
    return 'bad';
  }
}

function isKeyList(keys: unknown): keys is string[] {
  if (!Array.isArray(keys) || new Set(keys).size < keys.length) return false;
  return keys.every((key) => typeof key === 'string' && (key !== '*' || keys.at(-1) === '*'));
}

function readOthers(annotations: Labels): Keys | 'bad' | undefined {
  const openyurt = annotations['openyurt.io/topologyKeys'];
  if (openyurt === HOST) return { keys: [HOST], edgeOnly: false };
  if (openyurt !== undefined) return { keys: ['apps.openyurt.io/nodepool', HOST], edgeOnly: false };
  const kubeedge = annotations['apps.kubeedge.io/service-topology'];
  if (kubeedge === undefined) return undefined;
  if (kubeedge !== 'range-nodegroup') return 'bad';
  return { keys: ['apps.kubeedge.io/belonging-to', HOST], edgeOnly: false };
}

/** The inputs of a decision about one Service; each may be of another moment. */
export interface Inputs<Group extends ModelGroup<Candidate> = ModelSlice> {
  readonly settings: ModelSettings;
  readonly policy: ModelPolicy;
  readonly ports: Ports;
  /** The node that sees the view. */
  readonly self: string;
  /** Own node and declared communities. */
  readonly nodeContext: Pick<ModelCluster, 'nodes' | 'off' | 'communities'>;
  /** The other nodes, for each key. */
  readonly nodes: (key: string) => Pick<ModelCluster, 'nodes'>;
  /** Whether a look-up has found a Node in another zone than a slice says; default: if the Node exists. */
  readonly isLookedUp?: (node: string) => boolean;
  readonly slices: { readonly slices: ReadonlyMap<string, Group> };
}

/** A slice as it is shown: which endpoints, and whether hints are kept. */
export interface Shown<Group extends ModelGroup<Candidate> = ModelSlice> {
  readonly slice: Group;
  readonly endpoints: Group['endpoints'];
  readonly hints: boolean;
}

/** What a node must see of all Services of a cluster, by the keys of the slices. */
export function expectedView<Group extends ModelGroup<Candidate>>(
  cluster: Omit<ModelCluster, 'slices'> & { readonly slices: ReadonlyMap<string, Group> },
  node: string,
  settings: ModelSettings,
): Map<string, Shown<Group>> {
  const services = new Set([...cluster.slices.values()].map(({ service }) => service));
  return new Map(
    [...services].flatMap((service) => {
      const policy = policyOf(service, cluster, settings);
      const ports = portsFor(service, cluster);
      const moment = { self: node, nodeContext: cluster, nodes: () => cluster };
      return [...(shownOf(service, { settings, policy, ports, ...moment, slices: cluster }) ?? [])];
    }),
  );
}

/** The slices of a Service as they are shown; undefined: the Service and its slices are hidden. */
export function shownOf<Group extends ModelGroup<Candidate>>(
  service: string,
  inputs: Inputs<Group>,
): Map<string, Shown<Group>> | undefined {
  const { policy, nodeContext, self, settings } = inputs;
  const slices = [...inputs.slices.slices].filter(([, slice]) => slice.service === service);
  const edge = EDGE_NODES[settings.edge](nodeContext.nodes.get(self) ?? {});
  const all = () =>
    new Map(
      slices.map(([key, slice]) => [key, { slice, endpoints: slice.endpoints, hints: true }]),
    );
  if (nodeContext.off || policy === 'all') return all();
  if (policy === 'hidden') return undefined;
  if (policy.edgeOnly && !edge) return all();
  const counted = countedPorts(slices, policy, inputs);
  const portsFor = (endpoint: Candidate) => counted.get(endpoint) ?? [];
  const winners = winnersOf(counted, policy, inputs);
  const cloud = [...winners.values()].every((winner) => winner === CLOUD);
  const stays = ({ node }: Candidate) => policy.keepsLocal && node === self;
  const counts = (endpoint: Candidate) => portsFor(endpoint).length > 0;
  const hasLocal = [...counted.keys()].some((each) => counts(each) && stays(each));
  const canHide = settings.passthrough && edge && !policy.headless && !hasLocal;
  if (canHide && winners.size > 0 && cloud) return undefined;
  return new Map(
    slices.map(([key, slice]) => {
      const endpoints = slice.endpoints.filter(
        (endpoint) =>
          (stays(endpoint) && counts(endpoint)) ||
          portsFor(endpoint).some((port) => {
            const winner = winners.get(port);
            const keys = winner === undefined ? policy.keys : [winner];
            return keys.some((each) => matches(each, endpoint, inputs));
          }),
      );
      return [key, { slice, endpoints, hints: false }];
    }),
  );
}

type Place = Omit<Inputs, 'slices' | 'policy'>;

/** For each family and port with an endpoint, the key that won; undefined: none did. */
function winnersOf(
  counted: ReadonlyMap<Candidate, readonly string[]>,
  { keys, minReady }: Exclude<ModelPolicy, string>,
  place: Place,
): Map<string, string | undefined> {
  const ports = new Map<string, Candidate[]>();
  for (const [endpoint, own] of counted) {
    for (const port of new Set(own)) ports.set(port, [...(ports.get(port) ?? []), endpoint]);
  }
  const winners = new Map<string, string | undefined>();
  for (const [port, endpoints] of ports) {
    const count = (key: string, state: string) =>
      endpoints.filter((each) => each.state === state && matches(key, each, place)).length;
    const winner =
      keys.find((key) => count(key, 'ready') >= Number(minReady[key] ?? 1)) ??
      keys.find((key) => count(key, 'ready') > 0) ??
      keys.find((key) => count(key, 'serving') > 0);
    winners.set(port, winner);
  }
  return winners;
}

/**
 * For each endpoint the families and ports for which it counts. Of those with one address and port number the best one
 * does. Another one counts for the other ports of its slice, unless kube-proxy might use it in place of a better one.
 */
function countedPorts(
  slices: readonly (readonly [string, ModelGroup<Candidate>])[],
  policy: Exclude<ModelPolicy, string>,
  place: Place,
): Map<Candidate, readonly string[]> {
  const counted = new Map<Candidate, readonly string[]>();
  const all = slices.flatMap(([key, slice]) =>
    slice.endpoints.map((endpoint, index) => {
      const ports = portsOf(slice, place.ports);
      counted.set(endpoint, ports);
      const { address = endpoint, state, node } = endpoint;
      const ends = endpoint.terminating ?? state === 'serving';
      const isLocal = policy.keepsLocal && node === place.self;
      const order = [
        Number(ends),
        ['ready', 'serving', 'gone'].indexOf(state),
        Number(!isLocal),
        ...policy.keys.map((each) => Number(!matches(each, endpoint, place))),
        -ports.length,
        key,
        index,
      ];
      // Without a port there is no number that could differ.
      const number = slice.ports.length > 0 ? slice.number : undefined;
      return { endpoint, address, ports, number, state, ends, order };
    }),
  );
  for (const copies of Map.groupBy(all, ({ address }) => address).values()) {
    const better: typeof all = [];
    const taken = new Set<string>();
    for (const copy of copies.sort((a, b) => compareOrders(a.order, b.order))) {
      const rivals = better.filter(({ number }) => number === copy.number);
      const own = copy.ports.filter((port) => !taken.has(`${copy.number} ${port}`));
      for (const port of own) taken.add(`${copy.number} ${port}`);
      const isMixedUp = rivals.some(
        ({ ports, state, ends }) =>
          ends === copy.ends &&
          state !== copy.state &&
          ports.some((port) => copy.ports.includes(port)),
      );
      const counts = own.length > 0 && !isMixedUp;
      counted.set(copy.endpoint, counts ? own : []);
      if (counts) better.push(copy);
    }
  }
  return counted;
}

function compareOrders(a: readonly (string | number)[], b: readonly (string | number)[]): number {
  const at = a.findIndex((each, index) => each !== b[index]);
  return (a[at] ?? 0) < (b[at] ?? 0) ? -1 : 1;
}

/** Slices without ports share a port without a name, where the ports are those of the slices. */
function portsOf({ family, ports }: ModelGroup<Candidate>, counted: Ports): string[] {
  const own = ports.length === 0 ? [''] : ports;
  return own.map((port) => `${family} ${port}`).filter((port) => counted?.includes(port) ?? true);
}

/** Whether an endpoint matches a key, seen from the own node. */
function matches(key: string, { node, zone }: Candidate, place: Place): boolean {
  const { nodeContext, self, settings } = place;
  if (key === '*') return true;
  const own = nodeContext.nodes.get(self) ?? {};
  const other = node === self ? own : place.nodes(key).nodes.get(node);
  if (key === ZONE) {
    // A node with an empty zone is in none, as in kube-proxy.
    const zoneOf = own[ZONE] ?? '';
    if (zoneOf === '') return false;
    if (other?.[ZONE] === zoneOf) return true;
    const isKnown = place.isLookedUp?.(node) ?? other !== undefined;
    return !isKnown && zone === zoneOf;
  }
  if (node === '') return false;
  if (key === HOST) return node === self;
  if (key === CLOUD) return other !== undefined && !EDGE_NODES[settings.edge](other);
  if (key === COMMUNITY) {
    const mine = communitiesOf(self, own, place);
    return communitiesOf(node, other ?? {}, place).some((name) => mine.includes(name));
  }
  return other?.[key] !== undefined && other[key] === own[key];
}

function communitiesOf(node: string, labels: Labels, { nodeContext, settings }: Place): string[] {
  const { nodeLabels, labelPrefix, labelValues } = settings.sources;
  const names = nodeLabels.map((key) => labels[key] ?? '').filter((name) => name !== '');
  for (const [key, value] of Object.entries(labels)) {
    if (key.startsWith(labelPrefix) && value === 'true') names.push(key.slice(labelPrefix.length));
    if (labelValues.includes(value)) names.push(key);
  }
  for (const [name, members] of nodeContext.communities) {
    if (members.includes(node)) names.push(name);
  }
  return names;
}
