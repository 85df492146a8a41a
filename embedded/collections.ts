/** Names of the collections: the plural, but for the second of the two kinds of events. */
export type CollectionName =
  | 'services'
  | 'endpoints'
  | 'endpointslices'
  | 'nodes'
  | 'servicecidrs'
  | 'namespaces'
  | 'communities'
  | 'events'
  | 'events.events.k8s.io';

/** A collection of the API: what its URL, its objects and its messages are called. */
export interface Collection {
  readonly name: CollectionName;
  /** Plural name as in the URL. */
  readonly plural: string;
  /** API group; empty for core. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Fields a fieldSelector may name besides metadata.name and metadata.namespace. */
  readonly selectableFields: readonly string[];
  /** Whether the API server counts `metadata.generation` (Services, Nodes and Endpoints have none). */
  readonly hasGeneration: boolean;
  /**
   * What an object without content looks like in JSON, apart from kind, apiVersion and metadata: bookmarks
   * are such objects. In protobuf the schema knows it.
   */
  readonly blank: Readonly<Record<string, unknown>>;
}

function collection(
  name: CollectionName,
  kind: string,
  given: Partial<Collection> = {},
): readonly [CollectionName, Collection] {
  const defaults = {
    plural: name,
    group: '',
    version: 'v1',
    namespaced: true,
    selectableFields: [],
    hasGeneration: false,
    blank: {},
  };
  return [name, { ...defaults, ...given, name, kind }];
}

/** All collections that the server keeps, by name. */
export const COLLECTIONS: ReadonlyMap<CollectionName, Collection> = new Map([
  collection('services', 'Service', {
    selectableFields: ['spec.clusterIP', 'spec.type'],
    blank: { spec: {}, status: { loadBalancer: {} } },
  }),
  collection('endpoints', 'Endpoints'),
  collection('endpointslices', 'EndpointSlice', {
    group: 'discovery.k8s.io',
    hasGeneration: true,
    blank: { addressType: '', endpoints: null, ports: null },
  }),
  collection('nodes', 'Node', {
    namespaced: false,
    selectableFields: ['spec.unschedulable'],
    blank: {
      spec: {},
      status: {
        daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
        nodeInfo: {
          machineID: '',
          systemUUID: '',
          bootID: '',
          kernelVersion: '',
          osImage: '',
          containerRuntimeVersion: '',
          kubeletVersion: '',
          kubeProxyVersion: '',
          operatingSystem: '',
          architecture: '',
        },
      },
    },
  }),
  collection('servicecidrs', 'ServiceCIDR', {
    group: 'networking.k8s.io',
    namespaced: false,
    hasGeneration: true,
    blank: { spec: {}, status: {} },
  }),
  collection('namespaces', 'Namespace', { namespaced: false, blank: { spec: {}, status: {} } }),
  // FabEdge's custom resource. Refuse its path with 404 for a cluster in which it is not defined.
  collection('communities', 'Community', {
    group: 'fabedge.io',
    version: 'v1alpha1',
    namespaced: false,
    hasGeneration: true,
  }),
  collection('events', 'Event'),
  collection('events.events.k8s.io', 'Event', { plural: 'events', group: 'events.k8s.io' }),
]);

/** `v1` or `<group>/<version>`. */
export function apiVersionOf(given: Collection): string {
  return given.group === '' ? given.version : `${given.group}/${given.version}`;
}

/** How messages of Kubernetes name a resource: `services`, `endpointslices.discovery.k8s.io`. */
export function qualifiedName(given: Collection): string {
  return given.group === '' ? given.plural : `${given.plural}.${given.group}`;
}

/** Returns the collection of that name. Throws `RangeError` naming those there are. */
export function collectionNamed(name: CollectionName): Collection {
  const found = COLLECTIONS.get(name);
  if (found !== undefined) return found;
  throw new RangeError(`no collection ${name}; there are ${[...COLLECTIONS.keys()].join(', ')}`);
}

/** Returns the collection whose objects are of that kind and apiVersion. */
export function collectionOfKind(apiVersion: string, kind: string): Collection | undefined {
  return [...COLLECTIONS.values()].find(
    (each) => each.kind === kind && apiVersionOf(each) === apiVersion,
  );
}
