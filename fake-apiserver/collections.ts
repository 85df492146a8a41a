/** Names of the collections: the plural, except the second of the two kinds of events. */
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

/** A collection of the API: its names in URLs, objects and messages. */
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
  /** Whether the API server sets `metadata.generation`. It does not for Services, Nodes and Endpoints. */
  readonly hasGeneration: boolean;
  /**
   * The JSON of an empty object, without kind, apiVersion and metadata. Bookmarks contain it. In protobuf the schema
   * gives the same.
   */
  readonly blank: Readonly<Record<string, unknown>>;
}

function collection(
  name: CollectionName,
  kind: string,
  options: Partial<Collection> = {},
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
  return [name, { ...defaults, ...options, name, kind }];
}

/** All collections of the server, by name. */
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
  // FabEdge's custom resource. For a cluster without it, refuse its path with 404.
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

/** Returns the collection with a name. Throws a `RangeError` that lists the valid names. */
export function collectionNamed(name: CollectionName): Collection {
  const found = COLLECTIONS.get(name);
  if (found !== undefined) return found;
  throw new RangeError(`unknown collection ${name}; known: ${[...COLLECTIONS.keys()].join(', ')}`);
}

/** Returns the collection whose objects have a kind and apiVersion; undefined if there is no such collection. */
export function collectionOfKind(apiVersion: string, kind: string): Collection | undefined {
  return [...COLLECTIONS.values()].find(
    (each) => each.kind === kind && apiVersionOf(each) === apiVersion,
  );
}
