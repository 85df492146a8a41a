/**
 * What a node should see: a second implementation of "How a decision is taken" in docs/policies.md, without src. Slow,
 * plain, and without memory of earlier states.
 */

/** Labels of a Node. */
export type ModelLabels = Readonly<Record<string, string>>;

export interface ModelService {
  /** The value of the annotation. */
  readonly topologyKeys: string | undefined;
  readonly headless?: boolean;
  readonly internalLocal?: boolean;
  readonly externalLocal?: boolean;
}

/** How an endpoint is, by its conditions. `unknown` has none; `ended` terminates and serves no more. */
export type ModelState = 'ready' | 'unknown' | 'serving' | 'notReady' | 'ended';

export interface ModelEndpoint {
  readonly address: string;
  readonly node: string | undefined;
  readonly zone: string | undefined;
  readonly state: ModelState;
}

/** Endpoints that share their ports. */
export interface ModelGroup {
  readonly ports: readonly string[];
  readonly endpoints: readonly ModelEndpoint[];
}

/** An EndpointSlice, which has one group, or an Endpoints object. */
export interface ModelObject {
  /** `namespace/name` of its Service. */
  readonly service: string;
  readonly groups: readonly ModelGroup[];
}

/** What there is in the API, by name or `namespace/name`. */
export interface ModelWorld {
  readonly nodes: ReadonlyMap<string, ModelLabels>;
  readonly services: ReadonlyMap<string, ModelService>;
  /** Services whose traffic all goes to the cloud are hidden from edge nodes. */
  readonly cloudPassthrough?: boolean;
}

const COMMUNITY = 'kube-proxy-wrapper.io/community';
const COMMUNITY_PREFIX = 'community.kube-proxy-wrapper.io/';
const CLOUD = 'kube-proxy-wrapper.io/cloud';
const FAB_PROXY_COMMUNITY = 'fab-proxy-community';
const EDGE_LABEL = 'node-role.kubernetes.io/edge';

/** By the object's key, the endpoints that the node sees of it. */
export type ModelView = ReadonlyMap<string, readonly ModelEndpoint[]>;

/** What a node sees of these slices, or of these Endpoints objects. */
export function viewOf(
  topology: ModelWorld,
  self: string,
  objects: ReadonlyMap<string, ModelObject>,
): ModelView {
  const view = new Map<string, readonly ModelEndpoint[]>();
  for (const [key, { service, groups }] of objects) {
    if (isCloudOnly(topology, self, service, objects)) continue;
    const all = groups.flatMap(({ endpoints }) => endpoints);
    const keys = keysFor(topology, self, service);
    if (keys === undefined) {
      view.set(key, all);
      continue;
    }
    const siblings = [...objects.values()].filter((object) => object.service === service);
    const chosen = choose(
      siblings.flatMap((object) => object.groups),
      keys,
      (topologyKey, endpoint) => matches(topology, self, topologyKey, endpoint),
    );
    const keepsLocal = topology.services.get(service)?.externalLocal === true;
    view.set(
      key,
      all.filter((endpoint) => chosen.has(endpoint) || (keepsLocal && endpoint.node === self)),
    );
  }
  return view;
}

/** Whether a Service is hidden from a node because the cloud is chosen for each of its ports. */
export function isCloudOnly(
  topology: ModelWorld,
  self: string,
  service: string,
  objects: ReadonlyMap<string, ModelObject>,
): boolean {
  const keys = keysFor(topology, self, service);
  if (topology.cloudPassthrough !== true || !isEdge(topology, self) || keys === undefined)
    return false;
  const siblings = [...objects.values()].filter((object) => object.service === service);
  const groups = siblings.flatMap((object) => object.groups);
  const isHere = ({ node }: ModelEndpoint) => node === self;
  const hasLocal = groups.some(({ endpoints }) => endpoints.some(isHere));
  if (hasLocal && topology.services.get(service)?.externalLocal === true) return false;
  const ports = candidatesByPort(groups);
  const winners = ports.map((candidates) =>
    winnerAmong(candidates, keys, (key, endpoint) => matches(topology, self, key, endpoint)),
  );
  return winners.length > 0 && winners.every((key) => key === CLOUD);
}

function isEdge(topology: ModelWorld, node: string): boolean {
  return topology.nodes.get(node)?.[EDGE_LABEL] !== undefined;
}

/** The keys that count on a node: the preset of FabEdge is for edge nodes only. */
function keysFor(
  topology: ModelWorld,
  self: string,
  service: string,
): readonly string[] | undefined {
  const described = topology.services.get(service);
  const isPreset = described?.topologyKeys === FAB_PROXY_COMMUNITY;
  return isPreset && !isEdge(topology, self) ? undefined : keysOf(described);
}

/** The keys that count; undefined: the Service is left alone. */
function keysOf(service: ModelService | undefined): readonly string[] | undefined {
  if (service === undefined || service.headless === true || service.internalLocal === true) {
    return undefined;
  }
  if (service.topologyKeys === FAB_PROXY_COMMUNITY) {
    return ['kubernetes.io/hostname', COMMUNITY, CLOUD];
  }
  let keys: unknown;
  try {
    keys = JSON.parse(service.topologyKeys ?? 'null');
  } catch {
    return undefined;
  }
  if (!Array.isArray(keys)) return undefined;
  const isValid = keys.every(
    (key, index) =>
      typeof key === 'string' &&
      keys.indexOf(key) === index &&
      (key !== '*' || keys.at(-1) === key),
  );
  return isValid ? keys : undefined;
}

type Matches = (topologyKey: string, endpoint: ModelEndpoint) => boolean;

/** The endpoints chosen for any port and family. */
function choose(
  groups: readonly ModelGroup[],
  keys: readonly string[],
  matchesKey: Matches,
): ReadonlySet<ModelEndpoint> {
  const chosen = new Set<ModelEndpoint>();
  for (const candidates of candidatesByPort(groups)) {
    const winner = winnerAmong(candidates, keys, matchesKey);
    const wanted = winner === undefined ? keys : [winner];
    for (const endpoint of candidates) {
      if (wanted.some((key) => matchesKey(key, endpoint))) chosen.add(endpoint);
    }
  }
  return chosen;
}

/** The endpoints of each port and family that has any. */
function candidatesByPort(groups: readonly ModelGroup[]): ModelEndpoint[][] {
  const ports = [...new Set(groups.flatMap((group) => group.ports))];
  return ports
    .flatMap((port) =>
      [4, 6].map((family) =>
        groups
          .filter((group) => group.ports.includes(port))
          .flatMap((group) => group.endpoints)
          .filter(({ address }) => (address.includes(':') ? 6 : 4) === family),
      ),
    )
    .filter((candidates) => candidates.length > 0);
}

/** The key that wins; undefined: nothing is ready or serves. */
function winnerAmong(
  candidates: readonly ModelEndpoint[],
  keys: readonly string[],
  matchesKey: Matches,
): string | undefined {
  for (const good of [isReady, isServing]) {
    const winner = keys.find((key) =>
      candidates.some((endpoint) => good(endpoint) && matchesKey(key, endpoint)),
    );
    if (winner !== undefined) return winner;
  }
  return undefined;
}

export function isReady({ state }: ModelEndpoint): boolean {
  return state === 'ready' || state === 'unknown';
}

export function isServing({ state }: ModelEndpoint): boolean {
  return state === 'serving';
}

function matches(
  topology: ModelWorld,
  self: string,
  topologyKey: string,
  { node, zone }: ModelEndpoint,
): boolean {
  if (topologyKey === '*') return true;
  if (node === undefined) return false;
  if (topologyKey === 'kubernetes.io/hostname') return node === self;
  const labels = topology.nodes.get(node);
  if (topologyKey === CLOUD) return labels !== undefined && !isEdge(topology, node);
  if (topologyKey === COMMUNITY) {
    const own = communitiesOf(topology.nodes.get(self));
    return communitiesOf(labels).some((name) => own.includes(name));
  }
  const here = topology.nodes.get(self)?.[topologyKey];
  const isZone = topologyKey === 'topology.kubernetes.io/zone';
  const there = isZone && zone !== undefined ? zone : topology.nodes.get(node)?.[topologyKey];
  return here !== undefined && here === there;
}

/** Communities by their label prefix. */
function communitiesOf(labels: ModelLabels = {}): string[] {
  return Object.keys(labels).filter(
    (key) => key.startsWith(COMMUNITY_PREFIX) && labels[key] === 'true',
  );
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
