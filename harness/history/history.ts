import type { ApiClient, KubeObject } from '../api-server/api.ts';
import { putObject } from '../api-server/put-object.ts';
import type { InformerVariant } from '../informer/informer.ts';
import type { Random } from '../random.ts';
import type { Labels, ModelSlice } from './expected-view.ts';
import { historyPorts, SEQ, toEndpoints, toService, toSlice } from './history-objects.ts';
import type { Change, HistoryShape } from './history-shape.ts';
import { asBackends, historyService, rowsOf, viewOf } from './history-view.ts';
import { persist } from './persist.ts';
import { OTHERS, randomEndpoints, randomPorts } from './random-endpoints.ts';
import { Timeline } from './timeline.ts';
import { type Resource, writeObject } from './write-object.ts';

export interface HistoryOptions {
  /** A client of the API server, which may go away, come back, and be another one then. */
  readonly api: () => ApiClient;
  readonly random: Random;
  /** The node whose view it is about. */
  readonly self: string;
  readonly shape: HistoryShape;
}

/** Makes the namespaces, nodes, Services and slices that a history begins with. */
export async function createHistory(options: HistoryOptions): Promise<History> {
  const history = new History(options);
  await history.begin();
  return history;
}

/** A random history of the API, and what it has led to so far. No controller must touch its objects. */
export class History {
  readonly timeline: Timeline;
  readonly #options: HistoryOptions;
  /** Services, as `namespace/name`, whether they are there at the moment or not. */
  readonly #names: readonly string[];

  constructor(options: HistoryOptions) {
    const { namespaces, services, ownLabels } = options.shape;
    this.#options = options;
    this.#names = namespaces.flatMap((namespace) => services.map((name) => `${namespace}/${name}`));
    this.timeline = new Timeline(options.random.pick(ownLabels));
  }

  async begin(): Promise<void> {
    const { api, random, self, shape } = this.#options;
    for (const name of shape.namespaces) {
      if (name === 'default') continue;
      await persist(() => putObject(api(), '/api/v1/namespaces', { metadata: { name } }));
    }
    await this.#write('nodes', self);
    for (const name of OTHERS) await this.#relabel(random, name);
    for (const name of this.#names) {
      await this.#setPolicy(random, name);
      for (const letter of shape.letters) await this.#setSlice(random, name, letter);
      if (shape.weights.endpoints !== undefined) await this.#setEndpoints(random, name);
    }
  }

  /** Makes one change; resolves when the API server has taken it. */
  async step(random = this.#options.random): Promise<void> {
    const { shape, self } = this.#options;
    const [service, letter] = [random.pick(this.#names), random.pick(shape.letters)];
    const other = random.pick(OTHERS);
    const changes: Readonly<Record<Change, () => Promise<void>>> = {
      slice: () => this.#setSlice(random, service, letter),
      'no slice': () => this.#deleteSlice(service, letter),
      endpoints: () => this.#setEndpoints(random, service),
      node: () => this.#relabel(random, other),
      'own node': () => this.#relabel(random, self),
      'no node': () => this.#deleteNode(other),
      policy: () => this.#setPolicy(random, service),
      'no service': () => this.#deleteService(service),
      'recreated service': () => this.#recreate(random, service),
    };
    const weights = Object.entries(shape.weights) as [Change, number][];
    const deck = weights.flatMap(([name, weight]) => Array<Change>(weight).fill(name));
    await changes[random.pick(deck)]();
  }

  /** Makes a change of each input, so that a view is right only when each query has caught up. */
  async changeAll(random: Random): Promise<void> {
    const { shape, self } = this.#options;
    await this.#setSlice(random, random.pick(this.#names), random.pick(shape.letters));
    await this.#relabel(random, random.pick(OTHERS));
    const names = this.#names.filter((name) => name !== shape.steady?.service);
    await this.#setPolicy(random, random.pick(names));
    if (random.chance(0.3)) await this.#relabel(random, self);
  }

  /** Writes all objects again, as into an empty etcd. */
  async writeAll(): Promise<void> {
    const { nodes, services, slices } = this.timeline.state;
    for (const name of [this.#options.self, ...nodes.keys()]) await this.#write('nodes', name);
    for (const name of services.keys()) await this.#write('services', name);
    for (const name of slices.keys()) await this.#write('endpointslices', name);
  }

  /** What an informer on the node must hold, as {@link rowsOf} computes it. */
  rows({
    resource,
    namespace,
  }: Pick<InformerVariant, 'resource' | 'namespace'>): Map<string, readonly string[]> {
    const rows = rowsOf(this.timeline.state, this.#options.self, resource);
    // The API server's own Service; nobody manages it, and it goes and comes with the API server.
    rows.set('default/kubernetes', ['10.99.0.1']);
    return new Map(
      [...rows].filter(([key]) => namespace === undefined || key.startsWith(`${namespace}/`)),
    );
  }

  /**
   * By `clusterIP:port` the backends of each Service that there is; undefined for one that there is not. Of those whose
   * traffic stays on the node, or that have no cluster IP, kube-proxy makes something else: they are left out.
   */
  backends(): Record<string, string[] | undefined> {
    const { state } = this.timeline;
    const view = viewOf(state, this.#options.self, state.slices);
    const plain = this.#names.filter((name) => !/[/](headless|local)$/.test(name));
    const entries = plain.flatMap((service) =>
      historyPorts.map((port) => {
        const backends = state.services.has(service) ? asBackends(view, service, port) : undefined;
        return [`${this.#clusterIP(service)}:${port.port}`, backends] as const;
      }),
    );
    return Object.fromEntries(entries);
  }

  /** The same each time that the Service is created. */
  #clusterIP(service: string): string {
    return `10.96.200.${this.#names.indexOf(service) + 1}`;
  }

  /** Often only one label changes, so the first key of a Service may stay the same. */
  async #relabel(random: Random, node: string): Promise<void> {
    const { self, shape } = this.#options;
    const { state } = this.timeline;
    const now = (node === self ? state.self : state.nodes.get(node)) ?? {};
    const isNew = node !== self && !state.nodes.has(node);
    const all = node === self ? shape.ownLabels : shape.otherLabels;
    const sets = isNew ? all.filter((set) => this.#isInZoneOfSlices(node, set)) : all;
    if (sets.length === 0) return;
    const near = sets.filter((set) => countDifferences(set, now) === 1);
    const isNear = near.length > 0 && random.chance(0.6);
    const others = sets.filter((set) => countDifferences(set, now) > 0);
    await this.#setNode(node, random.pick(isNear ? near : others));
  }

  async #deleteNode(name: string): Promise<void> {
    const labels = this.timeline.state.nodes.get(name) ?? {};
    if (this.#isInZoneOfSlices(name, labels)) await this.#setNode(name, undefined);
  }

  /**
   * Whether no slice puts a node into another zone than its label. Otherwise its endpoints would move when the Node is
   * created or deleted, which a wrapper notices only when it looks the Node up again.
   */
  #isInZoneOfSlices(node: string, labels: Labels): boolean {
    const zones = [...this.timeline.state.slices.values()]
      .flatMap(({ endpoints }) => endpoints)
      .filter((endpoint) => endpoint.node === node)
      .map(({ zone }) => zone);
    return zones.every((zone) => zone === '' || zone === labels['topology.kubernetes.io/zone']);
  }

  async #setNode(name: string, labels: Labels | undefined): Promise<void> {
    if (name !== this.#options.self) this.timeline.setNode(name, labels);
    else if (labels !== undefined) this.timeline.self.push(labels);
    await this.#write('nodes', name);
  }

  async #setPolicy(random: Random, key: string): Promise<void> {
    const { steady, policies } = this.#options.shape;
    const now = this.timeline.services.of(key).last?.annotations.topologyKeys;
    const other = random.pick(policies.filter((policy) => policy !== now));
    await this.#setService(key, key === steady?.service ? steady.policy : other);
  }

  async #setService(key: string, topologyKeys: string | undefined): Promise<void> {
    const local = key.endsWith('/local') ? ('internal' as const) : undefined;
    const plain = historyService(topologyKeys, this.timeline.nextVersion());
    const service = { ...plain, headless: key.endsWith('/headless'), local };
    this.timeline.services.of(key).push(service);
    await this.#write('services', key);
  }

  async #deleteService(key: string): Promise<void> {
    const { services, endpoints } = this.timeline;
    // Up to 1.36 the API server deletes the Endpoints object of this name along with it; since 1.37 a controller does.
    if (services.of(key).last !== undefined) endpoints.of(key).push(undefined);
    services.of(key).push(undefined);
    await this.#write('services', key);
    if (endpoints.of(key).last === undefined) await this.#write('endpoints', key);
  }

  /** Deleted with its slices and created again, as one of another author is. */
  async #recreate(random: Random, key: string): Promise<void> {
    const { letters } = this.#options.shape;
    const topologyKeys = this.timeline.services.of(key).last?.annotations.topologyKeys;
    await this.#deleteService(key);
    for (const letter of letters) await this.#deleteSlice(key, letter);
    await this.#setService(key, topologyKeys);
    for (const letter of letters) await this.#setSlice(random, key, letter);
  }

  async #setSlice(random: Random, service: string, letter: string): Promise<void> {
    const version = this.timeline.nextVersion();
    const { nodes } = this.timeline.state;
    const what = { ...this.#options, random, service, letter, version, nodes };
    const family = letter === 'c' ? ('IPv6' as const) : ('IPv4' as const);
    const rest = { ports: randomPorts(what), endpoints: randomEndpoints(what) };
    this.timeline.slices.of(`${service}-${letter}`).push({ version, service, family, ...rest });
    await this.#write('endpointslices', `${service}-${letter}`);
  }

  async #deleteSlice(service: string, letter: string): Promise<void> {
    this.timeline.slices.of(`${service}-${letter}`).push(undefined);
    await this.#write('endpointslices', `${service}-${letter}`);
  }

  async #setEndpoints(random: Random, service: string): Promise<void> {
    const version = this.timeline.nextVersion();
    const { nodes } = this.timeline.state;
    // An Endpoints object has no zones, and only ready and not ready addresses.
    const subset = (letter: string, ports: readonly string[]): ModelSlice => {
      const write = { ...this.#options, random, service, letter, version, nodes };
      const endpoints = randomEndpoints(write).map(({ address, node, state }) => {
        return { address, node, zone: '', state: state === 'ready' ? state : ('gone' as const) };
      });
      return { version, service, family: 'IPv4', ports, endpoints };
    };
    // The API server joins subsets of the same ports, so they differ.
    const subsets = [subset('d', ['TCP/http']), subset('e', ['TCP/http', 'TCP/admin'])];
    const filled = subsets.filter(({ endpoints }) => endpoints.length > 0);
    this.timeline.endpoints.of(service).push(filled);
    await this.#write('endpoints', service);
  }

  /** Makes an object at the API server as the timeline has it. */
  async #write(resource: Resource, key: string): Promise<void> {
    await writeObject(this.#options.api, resource, key, this.#objectOf(resource, key));
  }

  #objectOf(resource: Resource, key: string): KubeObject | undefined {
    const name = key.split('/').at(-1) ?? '';
    const { self, nodes, services, slices, endpoints } = this.timeline.state;
    switch (resource) {
      case 'nodes': {
        const labels = key === this.#options.self ? self : nodes.get(key);
        return labels && { metadata: { name, labels } };
      }
      case 'services': {
        const service = services.get(key);
        if (service === undefined) return undefined;
        // The API server chooses the families.
        const { families: _, ...written } = service;
        return toService(written, { name }, this.#clusterIP(key));
      }
      case 'endpointslices': {
        const slice = slices.get(key);
        const annotations = { [SEQ]: String(slice?.version) };
        return slice && toSlice(slice, { name, annotations });
      }
      case 'endpoints': {
        const subsets = endpoints.get(key);
        return subsets && toEndpoints(subsets, { name });
      }
    }
  }
}

function countDifferences(one: Labels, other: Labels): number {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].filter((name) => one[name] !== other[name]).length;
}
