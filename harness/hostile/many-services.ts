import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import type { KubeObject } from '../../fake-apiserver/kube-object.ts';

const ENDPOINTS = 20;

/**
 * Gives an API server in memory many Services of 20 endpoints, each with one slice. A real one takes a minute to take
 * 5,000; this one has them at once.
 */
export function restoreManyServices(cluster: ApiServer, count: number): void {
  const indices = Array.from({ length: count }, (_, index) => index);
  cluster.restore('services', indices.map(serviceOf), 1_000);
  cluster.restore('endpointslices', indices.map(sliceOf), 1_000);
}

function serviceOf(index: number): KubeObject {
  const annotations = { topologyKeys: '["site","*"]' };
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...metadataOf(index), ...(index % 2 === 0 ? { annotations } : {}) },
    spec: {
      clusterIP: `10.96.${index >> 8}.${index & 255}`,
      type: 'ClusterIP',
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    },
  };
}

function sliceOf(index: number): KubeObject {
  const metadata = metadataOf(index);
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    addressType: 'IPv4',
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': metadata.name } },
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: Array.from({ length: ENDPOINTS }, (_, each) => ({
      addresses: [`10.${128 + (index >> 8)}.${index & 255}.${each + 1}`],
      nodeName: each % 2 === 0 ? 'edge-2' : 'edge-3',
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: { kind: 'Pod', namespace: 'many', name: `${metadata.name}-5c9f7d8b6-${each}abcd` },
    })),
  };
}

function metadataOf(index: number) {
  const name = `service-${index}`;
  return { name, namespace: 'many', uid: `uid-${index}`, resourceVersion: '1000' };
}
