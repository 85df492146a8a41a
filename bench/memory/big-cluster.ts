import { createApiServer } from '../../fake-apiserver/api-server.ts';

/** An API server in memory that holds many Services; see {@link startBigCluster}. */
export interface BigCluster {
  readonly url: string;
  /** Lists that were asked for so far. */
  lists(): number;
  close(): Promise<void>;
}

const NODES = 1_000;

/** Starts a cluster of Services with one slice each, whose endpoints are spread over 1,000 nodes. */
export async function startBigCluster(services: number, endpoints: number): Promise<BigCluster> {
  const server = createApiServer();
  server.create('nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node-0', labels: { 'kubernetes.io/hostname': 'node-0' } },
  });
  for (let n = 0; n < services; n++) {
    const name = `service-${n}`;
    server.create('services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: 'default', labels: { app: name } },
      spec: {
        clusterIP: `10.96.${n >> 8}.${n & 255}`,
        type: 'ClusterIP',
        selector: { app: name },
        ports: [{ name: 'http', port: 80 }],
      },
    });
    server.create('endpointslices', sliceOf(name, n, endpoints));
  }
  const url = await server.listen();
  return {
    url,
    lists: () => server.requests.filter(({ query }) => query.get('watch') === null).length,
    close: () => server.close(),
  };
}

function sliceOf(service: string, number: number, endpoints: number) {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${service}-abcde`,
      namespace: 'default',
      labels: {
        'kubernetes.io/service-name': service,
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
    },
    addressType: 'IPv4',
    endpoints: Array.from({ length: endpoints }, (_, index) => {
      const address = number * endpoints + index;
      return {
        addresses: [`10.${(address >> 16) & 255}.${(address >> 8) & 255}.${address & 255}`],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: `node-${address % NODES}`,
        zone: `zone-${address % 3}`,
        targetRef: {
          kind: 'Pod',
          namespace: 'default',
          name: `${service}-7c9f8d6b5-${index.toString(36).padStart(5, 'x')}`,
          uid: `00000000-0000-4000-8000-${String(address).padStart(12, '0')}`,
        },
      };
    }),
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
  };
}
