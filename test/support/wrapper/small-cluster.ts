import {
  type ApiServer,
  type ApiServerOptions,
  createApiServer,
} from '../../../fake-apiserver/api-server.ts';
import { issue, makeAuthority } from '../../../harness/certificates.ts';

/** An endpoint of the small cluster: `10.0.0.<n>` on a node. */
export interface SmallEndpoint {
  readonly ip: string;
  readonly node: string;
  readonly ready?: boolean;
  readonly zone?: string;
  /** Name of its Pod in the namespace `default`; its uid is `uid-<name>`. Only in slices. */
  readonly pod?: string;
}

const SERVING = await issue(await makeAuthority(), 'kubernetes');

/** The TLS options of an API server in memory. */
export function servingTls(http1Only = false): NonNullable<ApiServerOptions['tls']> {
  return { ...SERVING, http1Only };
}

/**
 * Nodes edge-1 and edge-2 in site a, edge-3 in site b; the wrapper runs on edge-1. There are no Services. It speaks
 * HTTP/2 over TLS, as a kube-apiserver, unless `options` have other {@link servingTls}; undefined: plain http.
 */
export function createSmallCluster(options: ApiServerOptions = {}): ApiServer {
  const server = createApiServer({
    initialResourceVersion: 100,
    tls: servingTls(),
    ...options,
  });
  for (const [name, site] of [
    ['edge-1', 'a'],
    ['edge-2', 'a'],
    ['edge-3', 'b'],
  ] as const) {
    putNode(server, name, { site });
  }
  return server;
}

export function putNode(server: ApiServer, name: string, labels: Record<string, string>): void {
  server.create('nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
}

/** Creates a Service with topology keys; null: without. */
export function putService(server: ApiServer, name: string, keys: string[] | null): void {
  createService(server, name, keys, '10.96.0.10');
}

/** Creates a headless Service with topology keys. */
export function putHeadless(server: ApiServer, name: string, keys: string[]): void {
  createService(server, name, keys, 'None');
}

function createService(
  server: ApiServer,
  name: string,
  keys: string[] | null,
  clusterIP: string,
): void {
  const annotations: Record<string, string> =
    keys === null ? {} : { topologyKeys: JSON.stringify(keys) };
  server.create('services', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default', annotations },
    spec: { clusterIP, type: 'ClusterIP', ports: [{ name: 'http', port: 80 }] },
  });
}

/** Creates or replaces a slice of a Service. @param more labels besides the label of the Service */
export function putSlice(
  server: ApiServer,
  name: string,
  service: string,
  endpoints: readonly SmallEndpoint[],
  more: Readonly<Record<string, string>> = {},
): void {
  const labels = { 'kubernetes.io/service-name': service, ...more };
  const object = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace: 'default', labels },
    addressType: 'IPv4',
    endpoints: endpoints.map(({ ip, node, ready = true, zone, pod }) => ({
      addresses: [ip],
      conditions: { ready },
      nodeName: node,
      ...(zone === undefined ? {} : { zone }),
      ...(pod === undefined ? {} : { targetRef: refTo(pod) }),
    })),
    ports: [{ name: 'http', protocol: 'TCP', port: 80 }],
  };
  if (server.get('endpointslices', name) === undefined) server.create('endpointslices', object);
  else server.update('endpointslices', object);
}

function refTo(name: string) {
  return { kind: 'Pod', namespace: 'default', name, uid: `uid-${name}` };
}

/** Creates or replaces the Endpoints of a Service. */
export function putEndpoints(
  server: ApiServer,
  service: string,
  endpoints: readonly SmallEndpoint[],
): void {
  const select = (wanted: boolean) =>
    endpoints
      .filter(({ ready = true }) => ready === wanted)
      .map(({ ip, node }) => ({ ip, nodeName: node }));
  const object = {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: service, namespace: 'default' },
    subsets: [
      {
        addresses: select(true),
        notReadyAddresses: select(false),
        ports: [{ name: 'http', protocol: 'TCP', port: 80 }],
      },
    ],
  };
  if (server.get('endpoints', service) === undefined) server.create('endpoints', object);
  else server.update('endpoints', object);
}

/** Before Kubernetes 1.31 an API server cannot select Services by their address. A kube-proxy of its time does not. */
export function rejectFieldSelectors(server: ApiServer): void {
  server.refuse(
    ({ path, query }) => path === '/api/v1/services' && query.get('fieldSelector') !== null,
    400,
  );
}
