import type { Cluster } from './cluster.ts';
import type { ClusterNode } from './node.ts';

/** A Service of all Pods of {@link createWeb}, without a policy: every node answers. */
export const EVERYWHERE = 'http://10.96.0.81/';

/**
 * Addresses of a Service that names a Pod, but has other addresses than the Pod: those of a second network. While the
 * node is cut off, the container runtime replaces them. Once the API server answers, they must be shown again.
 */
export const SECOND_NETWORK = { unchanged: '10.9.0.1', before: '10.9.0.2', after: '10.9.0.3' };

const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
const SERVICES = '/api/v1/namespaces/default/services';
const NAME = 'second-network';
/** The slice whose address changes. */
const CHANGED = `${SLICES}/${NAME}-before`;

/** Creates both Services. @param pod name of a Pod on a node, for the second network */
export async function createOtherServices(
  { admin }: Cluster,
  node: string,
  pod: string,
): Promise<void> {
  const ports = [{ port: 80, targetPort: 8080 }];
  await admin.create(SERVICES, {
    metadata: { name: 'everywhere' },
    spec: { selector: { app: 'web' }, clusterIP: '10.96.0.81', ports },
  });
  await admin.create(SERVICES, { metadata: { name: NAME }, spec: { ports } });
  const { uid } = (await admin.get(`/api/v1/namespaces/default/pods/${pod}`)).metadata;
  const targetRef = { kind: 'Pod', namespace: 'default', name: pod, uid };
  for (const which of ['unchanged', 'before'] as const) {
    const addresses = [SECOND_NETWORK[which]];
    await admin.create(SLICES, {
      metadata: {
        name: `${NAME}-${which}`,
        labels: { 'kubernetes.io/service-name': NAME },
      },
      addressType: 'IPv4',
      endpoints: [{ addresses, nodeName: node, targetRef, conditions: { ready: true } }],
      ports: [{ port: 8080, protocol: 'TCP' }],
    });
  }
}

/** Gives a slice of the second network an annotation with a text, which changes no rule. */
export async function annotateSecondNetwork({ admin }: Cluster, text: string): Promise<void> {
  const slice = await admin.get(CHANGED);
  const metadata = { ...slice.metadata, annotations: { mark: text } };
  await admin.update(CHANGED, { ...slice, metadata });
}

/** Changes one of the addresses of the second network, from `before` to `after`. */
export async function changeSecondNetwork({ admin }: Cluster): Promise<void> {
  const slice = await admin.get(CHANGED);
  const [endpoint] = slice.endpoints as Record<string, unknown>[];
  const endpoints = [{ ...endpoint, addresses: [SECOND_NETWORK.after] }];
  await admin.update(CHANGED, { ...slice, endpoints });
}

/** A Service of servers on the nodes' own addresses, which a reboot does not change. Its policy is the site. */
export const ON_NODES = 'http://10.96.0.82/';
const ON_NODES_PORT = 8082;

/** Creates that Service. The servers are started by {@link serveOnNode}. */
export async function createServiceOnNodes({ admin, nodes }: Cluster): Promise<void> {
  const ports = [{ port: 80, targetPort: ON_NODES_PORT }];
  await admin.create(SERVICES, {
    metadata: { name: 'on-nodes', annotations: { topologyKeys: '["site"]' } },
    spec: { clusterIP: new URL(ON_NODES).hostname, ports },
  });
  await admin.create(SLICES, {
    metadata: { name: 'on-nodes', labels: { 'kubernetes.io/service-name': 'on-nodes' } },
    addressType: 'IPv4',
    endpoints: nodes.map(({ name, address }) => ({
      addresses: [address],
      nodeName: name,
      conditions: { ready: true },
    })),
    ports: [{ port: ON_NODES_PORT, protocol: 'TCP' }],
  });
}

/** Starts the server of a node, which ends with it. */
export function serveOnNode({ binaries }: Cluster, node: ClusterNode): void {
  node.spawn({
    name: 'server',
    command: binaries.podProgram,
    args: ['serve', String(ON_NODES_PORT)],
    env: { NODE: node.name },
  });
}
