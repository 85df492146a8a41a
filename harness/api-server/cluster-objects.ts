import type { ApiClient, KubeObject } from './api.ts';

type StringMap = Readonly<Record<string, string>>;

/** A port of a Service. */
export interface ServicePortOptions {
  readonly name?: string;
  readonly port: number;
  /** Number of a container's port. Default: `port`. */
  readonly targetPort?: number;
  readonly nodePort?: number;
  readonly protocol?: 'TCP' | 'UDP';
}

/** A Service to be made. */
export interface ServiceOptions {
  readonly name: string;
  /** Default `default`. */
  readonly namespace?: string;
  /** Left out: no selector, so that its slices are made by hand. */
  readonly selector?: StringMap;
  readonly annotations?: StringMap;
  readonly labels?: StringMap;
  readonly ports: readonly ServicePortOptions[];
  /** More fields of the spec, such as `clusterIP: 'None'` or `type: 'NodePort'`. */
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** A hand-made EndpointSlice of a Service. */
export interface SliceOptions {
  readonly name: string;
  /** Default `default`. */
  readonly namespace?: string;
  readonly service: string;
  /** Default IPv4. */
  readonly addressType?: 'IPv4' | 'IPv6';
  /** Endpoints as in discovery.k8s.io/v1. */
  readonly endpoints: readonly Readonly<Record<string, unknown>>[];
  readonly ports: readonly Readonly<Record<string, unknown>>[];
}

export async function createNamespace(api: ApiClient, name: string): Promise<void> {
  await api.create('/api/v1/namespaces', { metadata: { name } });
}

/** Makes a Node. kube-proxy needs the `address` of its own, and exits when that changes. */
export async function createNode(
  api: ApiClient,
  name: string,
  labels: StringMap = {},
  address?: string,
): Promise<KubeObject> {
  const metadata = { name, labels: { 'kubernetes.io/hostname': name, ...labels } };
  const node = await api.create('/api/v1/nodes', { metadata });
  return address === undefined ? node : await setNodeAddress(api, name, address);
}

/** Gives a Node the address that its kube-proxy needs to start. */
export async function setNodeAddress(
  api: ApiClient,
  name: string,
  address: string,
): Promise<KubeObject> {
  const addresses = [
    { type: 'InternalIP', address },
    { type: 'Hostname', address: name },
  ];
  return await api.patch(`/api/v1/nodes/${name}/status`, { status: { addresses } }, 'strategic');
}

/** Sets labels of a Node; null removes one. */
export async function labelNode(
  api: ApiClient,
  name: string,
  labels: Readonly<Record<string, string | null>>,
): Promise<KubeObject> {
  return await api.patch(`/api/v1/nodes/${name}`, { metadata: { labels } });
}

/** Makes a Service and returns it with its cluster IP and node ports. */
export async function createService(api: ApiClient, options: ServiceOptions): Promise<KubeObject> {
  const { name, namespace = 'default', selector, annotations, labels, ports, spec } = options;
  return await api.create(`/api/v1/namespaces/${namespace}/services`, {
    metadata: {
      name,
      ...(annotations === undefined ? {} : { annotations }),
      ...(labels === undefined ? {} : { labels }),
    },
    spec: { ports, ...(selector === undefined ? {} : { selector }), ...spec },
  });
}

/** Sets annotations of a Service; null removes one. */
export async function annotateService(
  api: ApiClient,
  name: string,
  annotations: Readonly<Record<string, string | null>>,
  namespace = 'default',
): Promise<KubeObject> {
  const path = `/api/v1/namespaces/${namespace}/services/${name}`;
  return await api.patch(path, { metadata: { annotations } });
}

/** Makes an EndpointSlice that no controller touches. */
export async function createSlice(api: ApiClient, options: SliceOptions): Promise<KubeObject> {
  const { name, namespace = 'default', service, addressType = 'IPv4' } = options;
  return await api.create(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, {
    metadata: {
      name,
      labels: {
        'kubernetes.io/service-name': service,
        'endpointslice.kubernetes.io/managed-by': 'test.kube-proxy-wrapper.io',
      },
    },
    addressType,
    endpoints: options.endpoints,
    ports: options.ports,
  });
}

export async function deleteService(
  api: ApiClient,
  name: string,
  namespace = 'default',
): Promise<void> {
  await api.delete(`/api/v1/namespaces/${namespace}/services/${name}`);
}

export async function deleteSlice(
  api: ApiClient,
  name: string,
  namespace = 'default',
): Promise<void> {
  await api.delete(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices/${name}`);
}
