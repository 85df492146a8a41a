import type { ApiClient, KubeObject } from '../api-server/api.ts';
import { createService, createSlice, type ServiceOptions } from '../api-server/cluster-objects.ts';

/** One endpoint of a hand-made slice. */
export interface Placed {
  /** `ip:port`; IPv6 in brackets. */
  readonly at: string;
  /** Left out: an endpoint without a node. */
  readonly node?: string;
  readonly zone?: string;
  /** Default true. */
  readonly ready?: boolean;
  /** Zone in the hints of the endpoint. */
  readonly hint?: string;
}

/** Makes a Service without selector on port 80, and a slice of its name that holds these endpoints. */
export async function createPlacedService(
  admin: ApiClient,
  options: Omit<ServiceOptions, 'ports'>,
  endpoints: readonly Placed[],
): Promise<{ readonly service: KubeObject; readonly target: string }> {
  const { name, namespace } = options;
  const service = await createService(admin, { ...options, ports: [{ port: 80 }] });
  await putSlice(admin, { name, service: name, ...(namespace ? { namespace } : {}) }, endpoints);
  return { service, target: `${service.spec.clusterIP}:80` };
}

/** Makes a slice of these endpoints, of the one family and port that they all have. */
export async function putSlice(
  admin: ApiClient,
  slice: { readonly name: string; readonly service: string; readonly namespace?: string },
  endpoints: readonly Placed[],
  {
    name = '',
    protocol = 'TCP',
  }: { readonly name?: string; readonly protocol?: 'TCP' | 'UDP' } = {},
): Promise<KubeObject> {
  const [first] = endpoints;
  if (first === undefined) throw new Error('a slice needs an endpoint, to tell its port');
  const port = Number(first.at.slice(first.at.lastIndexOf(':') + 1));
  return await createSlice(admin, {
    ...slice,
    addressType: first.at.startsWith('[') ? 'IPv6' : 'IPv4',
    endpoints: endpoints.map(toEndpoint),
    ports: [{ name, port, protocol }],
  });
}

/** The endpoint as in discovery.k8s.io/v1. */
function toEndpoint({ at, node, zone, ready = true, hint }: Placed): Record<string, unknown> {
  const address = at.slice(0, at.lastIndexOf(':')).replace(/^\[(.*)\]$/, '$1');
  return {
    addresses: [address],
    conditions: { ready },
    ...(node === undefined ? {} : { nodeName: node }),
    ...(zone === undefined ? {} : { zone }),
    ...(hint === undefined ? {} : { hints: { forZones: [{ name: hint }] } }),
  };
}

/** Turns the endpoint of this index in a slice ready or not ready. */
export async function setEndpointReady(
  admin: ApiClient,
  slice: string,
  index: number,
  ready: boolean,
  namespace = 'default',
): Promise<void> {
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices/${slice}`;
  const patch = [{ op: 'replace', path: `/endpoints/${index}/conditions/ready`, value: ready }];
  await admin.patch(path, patch, 'json');
}
