import { type ApiClient, ApiError, type KubeObject } from './api.ts';
import type { ModelEndpoint, ModelObject, ModelService, ModelState } from './model.ts';

/** Ports of every Service of a history: `port` of its cluster IP leads to `number` of an endpoint. */
export const historyPorts = [
  { name: 'http', port: 80, number: 8080 },
  { name: 'admin', port: 81, number: 8081 },
] as const;

/** The next state of an object in a history; without content the object is deleted. */
export type HistoryObject =
  | { readonly kind: 'namespace'; readonly key: string }
  | {
      readonly kind: 'node';
      readonly key: string;
      /** Null removes a label. */
      readonly labels?: Readonly<Record<string, string | null>>;
    }
  | {
      readonly kind: 'service';
      readonly key: string;
      readonly service?: ModelService;
      readonly clusterIP?: string;
    }
  | {
      readonly kind: 'slice';
      readonly key: string;
      readonly object?: ModelObject;
      readonly family?: 4 | 6;
      readonly headless?: boolean;
    }
  | { readonly kind: 'endpoints'; readonly key: string; readonly object: ModelObject };

/** Writes it to the API; done twice it comes to the same. */
export async function writeObject(api: ApiClient, object: HistoryObject): Promise<void> {
  const { key } = object;
  const [namespace = '', name = key] = key.split('/');
  const core = `/api/v1/namespaces/${namespace}`;
  switch (object.kind) {
    case 'namespace':
      return await createOnce(api, '/api/v1/namespaces', { metadata: { name: key } });
    case 'node': {
      const { labels } = object;
      if (labels === undefined) return await api.delete(`/api/v1/nodes/${key}`);
      return await createOrPatch(api, '/api/v1/nodes', { metadata: { name: key } }, { labels });
    }
    case 'service': {
      const { service, clusterIP = '' } = object;
      if (service === undefined) return await api.delete(`${core}/services/${name}`);
      const annotations = { topologyKeys: service.topologyKeys ?? null };
      return await createOrPatch(api, `${core}/services`, toService(name, service, clusterIP), {
        annotations,
      });
    }
    case 'slice': {
      const collection = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
      if (object.object === undefined) return await api.delete(`${collection}/${name}`);
      const { family = 4, headless = false } = object;
      return await put(api, collection, toSlice(name, object.object, family, headless));
    }
    case 'endpoints':
      return await put(api, `${core}/endpoints`, toEndpoints(name, object.object));
  }
}

function isStatus(error: unknown, status: number): boolean {
  return error instanceof ApiError && error.status === status;
}

async function createOnce(api: ApiClient, collection: string, object: KubeObject): Promise<void> {
  try {
    await api.create(collection, object);
  } catch (error) {
    if (!isStatus(error, 409)) throw error;
  }
}

/** Creates it with this metadata, or sets the metadata of one that is there. */
async function createOrPatch(
  api: ApiClient,
  collection: string,
  object: KubeObject,
  metadata: Readonly<Record<string, Readonly<Record<string, string | null>>>>,
): Promise<void> {
  try {
    await api.patch(`${collection}/${object.metadata.name}`, { metadata });
  } catch (error) {
    if (!isStatus(error, 404)) throw error;
    const present = Object.entries(metadata).map(([field, values]) => [
      field,
      Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)),
    ]);
    await api.create(collection, {
      ...object,
      metadata: { ...object.metadata, ...Object.fromEntries(present) },
    });
  }
}

async function put(api: ApiClient, collection: string, object: KubeObject): Promise<void> {
  try {
    await api.update(`${collection}/${object.metadata.name}`, object);
  } catch (error) {
    if (!isStatus(error, 404)) throw error;
    await api.create(collection, object);
  }
}

function toService(name: string, service: ModelService, clusterIP: string): KubeObject {
  const ports = historyPorts.map(({ name, port, number }) => ({ name, port, targetPort: number }));
  return {
    metadata: { name },
    spec: {
      ports,
      clusterIP: service.headless === true ? 'None' : clusterIP,
      ...(service.internalLocal === true ? { internalTrafficPolicy: 'Local' } : {}),
    },
  };
}

function toSlice(name: string, slice: ModelObject, family: 4 | 6, headless: boolean): KubeObject {
  const [group = { ports: [], endpoints: [] }] = slice.groups;
  return {
    metadata: {
      name,
      labels: {
        'kubernetes.io/service-name': slice.service.split('/')[1] ?? '',
        'endpointslice.kubernetes.io/managed-by': 'test.kube-proxy-wrapper.io',
        ...(headless ? { 'service.kubernetes.io/headless': '' } : {}),
      },
    },
    addressType: `IPv${family}`,
    ports: toPorts(group.ports),
    endpoints: group.endpoints.map(({ address, node, zone, state }) => ({
      addresses: [address],
      conditions: CONDITIONS[state],
      ...(node === undefined ? {} : { nodeName: node }),
      ...(zone === undefined ? {} : { zone }),
    })),
  };
}

function toEndpoints(name: string, { groups }: ModelObject): KubeObject {
  const toAddress = ({ address, node }: ModelEndpoint) => ({
    ip: address,
    ...(node === undefined ? {} : { nodeName: node }),
  });
  const inState = (endpoints: readonly ModelEndpoint[], state: ModelState) =>
    endpoints.filter((endpoint) => endpoint.state === state).map(toAddress);
  const subsets = groups.map(({ ports, endpoints }) => ({
    addresses: inState(endpoints, 'ready'),
    notReadyAddresses: inState(endpoints, 'notReady'),
    ports: toPorts(ports),
  }));
  return { metadata: { name }, subsets };
}

function toPorts(names: readonly string[]): object[] {
  return historyPorts
    .filter(({ name }) => names.includes(name))
    .map(({ name, number }) => ({ name, port: number, protocol: 'TCP' }));
}

const CONDITIONS: Readonly<Record<ModelState, object>> = {
  ready: { ready: true, serving: true, terminating: false },
  unknown: {},
  serving: { ready: false, serving: true, terminating: true },
  notReady: { ready: false, serving: false, terminating: false },
  ended: { ready: false, serving: false, terminating: true },
};
