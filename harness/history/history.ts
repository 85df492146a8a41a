import { type ApiClient, ApiError, type KubeObject } from '../api-server/api.ts';
import { putObject } from '../api-server/put-object.ts';
import type { Random } from '../random.ts';
import { toEndpoints, toService, toSlice } from './history-objects.ts';
import type { ModelEndpoint, ModelLabels, ModelObject, ModelService, ModelState } from './model.ts';
import { persist } from './persist.ts';

export interface HistoryOptions {
  /** The API server; it may go away and come back meanwhile. */
  readonly api: ApiClient;
  readonly random: Random;
  /** The node whose view it is about. It is there already. */
  readonly self: string;
  /** Names for other nodes, which are made here. */
  readonly others: readonly string[];
  /** Namespaces, which are made here. */
  readonly namespaces: readonly string[];
  /** Also make Services that are left alone, IPv6 slices and Endpoints objects. */
  readonly all: boolean;
}

const TOPOLOGY_KEYS = [
  undefined,
  '["kubernetes.io/hostname"]',
  '["kubernetes.io/hostname","*"]',
  '["kubernetes.io/hostname","rack","topology.kubernetes.io/zone"]',
  '["topology.kubernetes.io/zone"]',
  '["topology.kubernetes.io/zone","site","*"]',
  '["site"]',
  '["site","rack","*"]',
  '["rack","site"]',
  '["*"]',
  '["*","site"]',
  'site',
] as const;

const LABELS = {
  site: ['a', 'b'],
  rack: ['r1', 'r2'],
  'topology.kubernetes.io/zone': ['z1', 'z2'],
} as const;

const STATES: readonly ModelState[] = [
  'ready',
  'ready',
  'ready',
  'unknown',
  'notReady',
  'serving',
  'ended',
] as ModelState[];

/** Makes the namespaces, nodes, Services and slices that a history begins with. */
export async function createHistory(options: HistoryOptions): Promise<History> {
  const history = new History(options);
  await history.begin();
  return history;
}

/** A random history of the API, and what it has led to so far. No controller must touch its objects. */
export class History {
  readonly nodes = new Map<string, ModelLabels>();
  readonly services = new Map<string, ModelService>();
  readonly slices = new Map<string, ModelObject>();
  readonly endpoints = new Map<string, ModelObject>();
  /** Services, as `namespace/name`, whether they are there at the moment or not. */
  readonly names: readonly string[];
  readonly #options: HistoryOptions;

  constructor(options: HistoryOptions) {
    this.#options = options;
    const plain = ['s0', 's1', 's2'];
    const names = options.all ? [...plain, 'local', 'headless'] : plain;
    this.names = options.namespaces.flatMap((namespace) =>
      names.map((name) => `${namespace}/${name}`),
    );
  }

  /** Cluster IP of a Service, the same each time it is created. */
  clusterIP(service: string): string {
    return `10.96.200.${this.names.indexOf(service) + 1}`;
  }

  async begin(): Promise<void> {
    const { self, others, namespaces } = this.#options;
    for (const name of namespaces) await this.#put('/api/v1/namespaces', { metadata: { name } });
    for (const name of [self, ...others]) await this.#setNode(name, this.#randomLabels());
    for (const name of this.names) await this.#setService(name, this.#randomKeys());
    for (const name of this.names) {
      for (const letter of this.#letters()) await this.#setSlice(name, letter);
      if (this.#options.all) await this.#setEndpoints(name);
    }
  }

  /** Makes one change; resolves with what it was, when the API server has taken it. */
  async step(): Promise<string> {
    const { random, self, others, all } = this.#options;
    const kind = random.below(100);
    const service = random.pick(this.names);
    const other = random.pick(others);
    if (kind < 35) return await this.#setSlice(service, random.pick(this.#letters()));
    if (kind < 40) return await this.#deleteSlice(service, random.pick(this.#letters()));
    if (kind < 52 && all) return await this.#setEndpoints(service);
    if (kind < 68) return await this.#setNode(other, this.#otherLabels(other));
    if (kind < 77) return await this.#setNode(self, this.#otherLabels(self));
    if (kind < 82) return await this.#deleteNode(other);
    if (kind < 94) return await this.#setService(service, this.#randomKeys());
    return await this.#deleteService(service);
  }

  /** Returns what forgets all changes from now on, because an older copy of etcd is restored. */
  remember(): () => void {
    const all: readonly Map<string, unknown>[] = [
      this.nodes,
      this.services,
      this.slices,
      this.endpoints,
    ];
    const copies = all.map((map) => [map, [...map]] as const);
    return () => {
      for (const [map, entries] of copies) {
        map.clear();
        for (const [key, value] of entries) map.set(key, value);
      }
    };
  }

  #letters(): readonly string[] {
    return this.#options.all ? ['a', 'b', 'c'] : ['a', 'b'];
  }

  #randomKeys(): string | undefined {
    return this.#options.random.pick(TOPOLOGY_KEYS);
  }

  #randomLabels(): ModelLabels {
    const { random } = this.#options;
    const labels = Object.entries(LABELS).flatMap(([name, values]) =>
      random.chance(0.25) ? [] : [[name, random.pick<string>(values)] as const],
    );
    return Object.fromEntries(labels);
  }

  /** Often only one label changes, so the first key of a Service may stay the same. */
  #otherLabels(node: string): ModelLabels {
    const { random } = this.#options;
    const labels = this.#randomLabels();
    if (random.chance(0.4)) return labels;
    const label = random.pick(Object.keys(LABELS));
    const kept = Object.entries(this.nodes.get(node) ?? {}).filter(([name]) => name !== label);
    const taken = Object.entries(labels).filter(([name]) => name === label);
    return Object.fromEntries([...kept, ...taken]);
  }

  /** Endpoints on random nodes. Their addresses tell the node, and differ between slices. */
  #randomEndpoints(hosts: readonly number[], family: 4 | 6, withZones: boolean): ModelEndpoint[] {
    const { random, self, others } = this.#options;
    const endpoints: ModelEndpoint[] = [];
    for (const [index, node] of [self, ...others, undefined].entries()) {
      for (const host of hosts) {
        if (!random.chance(node === undefined ? 0.1 : 0.3)) continue;
        endpoints.push({
          address: family === 4 ? `10.244.${index}.${host}` : `fd00::${index + 1}:${host}`,
          node,
          zone: withZones && random.chance(0.6) ? random.pick(['z1', 'z2']) : undefined,
          state: random.pick(STATES),
        });
      }
    }
    return endpoints;
  }

  #randomPorts(): readonly string[] {
    const both = ['http', 'admin'];
    // The controller writes a slice without ports for Pods that lack a named port.
    return this.#options.random.pick([['http'], ['admin'], both, both, both, []]);
  }

  async #setSlice(service: string, letter: string): Promise<string> {
    const [hosts, family] = letter === 'c' ? ([[1, 2], 6] as const) : ([HOSTS[letter], 4] as const);
    const endpoints = this.#randomEndpoints(hosts ?? [], family, true);
    const key = `${service}-${letter}`;
    const object = { service, groups: [{ ports: this.#randomPorts(), endpoints }] };
    const { collection, name } = slicePath(key);
    await this.#put(collection, toSlice(name, object, family, service.endsWith('/headless')));
    this.slices.set(key, object);
    return `slice ${key} set`;
  }

  async #deleteSlice(service: string, letter: string): Promise<string> {
    const key = `${service}-${letter}`;
    const { collection, name } = slicePath(key);
    await this.#delete(`${collection}/${name}`);
    this.slices.delete(key);
    return `slice ${key} deleted`;
  }

  async #setEndpoints(service: string): Promise<string> {
    // The API server joins groups of the same ports, so they differ.
    const groups = [
      { ports: ['http'], endpoints: this.#withConditionsOfEndpoints([5, 6]) },
      { ports: ['http', 'admin'], endpoints: this.#withConditionsOfEndpoints([7, 8]) },
    ].filter(({ endpoints }) => endpoints.length > 0);
    const object = { service, groups };
    const { collection, name } = corePath(service, 'endpoints');
    await this.#put(collection, toEndpoints(name, object));
    this.endpoints.set(service, object);
    return `endpoints ${service} set`;
  }

  /** An Endpoints object has only ready and not ready addresses. */
  #withConditionsOfEndpoints(hosts: readonly number[]): ModelEndpoint[] {
    return this.#randomEndpoints(hosts, 4, false).map((endpoint) => ({
      ...endpoint,
      state: ['ready', 'unknown'].includes(endpoint.state) ? 'ready' : 'notReady',
    }));
  }

  async #setNode(name: string, labels: ModelLabels): Promise<string> {
    const { api } = this.#options;
    // Labels of another kind remain.
    const absent = Object.fromEntries(Object.keys(LABELS).map((label) => [label, null]));
    await persist(async () => {
      try {
        await api.patch(`${NODES}/${name}`, { metadata: { labels: { ...absent, ...labels } } });
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 404) throw error;
        await api.create(NODES, { metadata: { name, labels } });
      }
    });
    this.nodes.set(name, labels);
    return `node ${name} labelled ${JSON.stringify(labels)}`;
  }

  async #deleteNode(name: string): Promise<string> {
    await this.#delete(`${NODES}/${name}`);
    this.nodes.delete(name);
    return `node ${name} deleted`;
  }

  async #setService(key: string, topologyKeys: string | undefined): Promise<string> {
    const headless = key.endsWith('/headless');
    const internalLocal = key.endsWith('/local');
    const service = { topologyKeys, headless, internalLocal };
    const { collection, name } = corePath(key, 'services');
    await this.#put(collection, toService(name, service, this.clusterIP(key)));
    this.services.set(key, service);
    return `service ${key} has ${topologyKeys ?? 'no keys'}`;
  }

  async #deleteService(key: string): Promise<string> {
    const { collection, name } = corePath(key, 'services');
    await this.#delete(`${collection}/${name}`);
    // The API server deletes the Endpoints object of this name along with it.
    if (this.services.delete(key)) this.endpoints.delete(key);
    return `service ${key} deleted`;
  }

  async #put(collection: string, object: KubeObject): Promise<void> {
    await persist(async () => await putObject(this.#options.api, collection, object));
  }

  async #delete(path: string): Promise<void> {
    await persist(async () => await this.#options.api.delete(path));
  }
}

const NODES = '/api/v1/nodes';

/** @param key `namespace/name` */
function corePath(key: string, plural: 'services' | 'endpoints') {
  const [namespace, name = ''] = key.split('/');
  return { collection: `/api/v1/namespaces/${namespace}/${plural}`, name };
}

/** @param key `namespace/name` */
function slicePath(key: string) {
  const [namespace, name = ''] = key.split('/');
  const group = '/apis/discovery.k8s.io/v1';
  return { collection: `${group}/namespaces/${namespace}/endpointslices`, name };
}

const HOSTS: Readonly<Record<string, readonly number[]>> = { a: [1, 2], b: [3, 4] };
