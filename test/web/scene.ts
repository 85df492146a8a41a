import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import type { KubeObject } from '../../fake-apiserver/kube-object.ts';
import { startUrlFront } from '../../harness/network/tcp-front.ts';
import { STREAMING_LIST } from '../../harness/streaming-list.ts';
import { CURRENT_SLICES } from '../../src/client/api/kube-proxy-queries.ts';
import { recordWatch } from '../support/guarantees/watch-recorder.ts';
import { startTestAdmin } from '../support/wrapper/admin-fixture.ts';
import {
  createSmallCluster,
  putNode,
  putService,
  putSlice,
  type SmallEndpoint,
} from '../support/wrapper/small-cluster.ts';
import { startWrapper } from '../support/wrapper/wrapper-fixture.ts';

/** The real wrapper of edge-1 with its admin port, a cluster in memory, and a client that watches slices. */
export interface Scene {
  readonly server: ApiServer;
  /** URL of the admin port. */
  readonly url: string;
  /** Ends the connections to the API server, and refuses new ones. */
  cutOff(): Promise<void>;
  /** Closes only the admin port. */
  stopAdmin(): Promise<void>;
  close(): Promise<void>;
}

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';

const WEB: readonly SmallEndpoint[] = [
  { ip: '10.0.1.1', node: 'edge-1', ready: false },
  { ip: '10.0.2.1', node: 'edge-2' },
  { ip: '10.0.3.1', node: 'edge-3' },
];

/** Four Services: one filtered, one unfiltered, one with an invalid policy, one without kept endpoints. */
export async function openScene(): Promise<Scene> {
  const server = createSmallCluster();
  putService(server, 'web', ['kubernetes.io/hostname', 'site', '*']);
  putSlice(server, 'web-1', 'web', WEB);
  putService(server, 'plain', null);
  putSlice(server, 'plain-1', 'plain', [{ ip: '10.0.3.2', node: 'edge-3' }]);
  putService(server, 'broken', ['not a key']);
  putSlice(server, 'broken-1', 'broken', [{ ip: '10.0.3.3', node: 'edge-3' }]);
  putService(server, 'lost', ['site']);
  putSlice(server, 'lost-1', 'lost', [{ ip: '10.0.3.4', node: 'edge-3' }]);
  return await serve(server);
}

/** A name of 50 characters that ends in its number. */
export function longName(number: number): string {
  return `payments-reconciliation-service-in-the-north-${String(number).padStart(5, '0')}`;
}

/** Number of endpoints of the largest Service of {@link openWideScene}. */
export const MANY = 200;

/**
 * Services of every kind in two Namespaces: names of 50 characters, 200 endpoints, no endpoint that the policy selects,
 * endpoints that are not ready, an invalid policy, no policy.
 */
export async function openWideScene(): Promise<Scene> {
  const server = createSmallCluster();
  const far = longName(7);
  putNode(server, far, { site: 'a' });
  server.label('edge-1', longName(3), 'a-rather-long-value-of-a-label');
  const endpoints = (count: number, node: string, ready = true): SmallEndpoint[] =>
    Array.from({ length: count }, (_, each) => ({ ip: `10.1.${each}.1`, node, ready }));
  putService(server, 'web', ['kubernetes.io/hostname', 'site', '*']);
  putSlice(server, 'web-1', 'web', WEB);
  putService(server, longName(1), ['site']);
  putSlice(server, `${longName(1)}-1`, longName(1), endpoints(MANY, far));
  putService(server, longName(2), [longName(3), longName(4), 'site', '*']);
  putSlice(server, `${longName(2)}-1`, longName(2), endpoints(5, 'edge-2', false));
  putService(server, 'stranded', ['rack']);
  putSlice(server, 'stranded-1', 'stranded', endpoints(4, 'edge-3'));
  putService(server, 'asleep', ['site']);
  putSlice(server, 'asleep-1', 'asleep', endpoints(2, 'edge-2', false));
  putService(server, 'broken', ['not a key']);
  putSlice(server, 'broken-1', 'broken', endpoints(3, 'edge-3'));
  putService(server, 'plain', null);
  putSlice(server, 'plain-1', 'plain', endpoints(2, 'edge-3'));
  const dns = { name: 'dns', namespace: 'kube-system' };
  server.create('services', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...dns, annotations: { topologyKeys: '["kubernetes.io/hostname","*"]' } },
    spec: { clusterIP: '10.96.0.11', type: 'ClusterIP', ports: [{ name: 'dns', port: 53 }] },
  });
  server.create('endpointslices', {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    addressType: 'IPv4',
    metadata: { ...dns, labels: { 'kubernetes.io/service-name': 'dns' } },
    endpoints: [{ addresses: ['10.2.0.1'], conditions: { ready: true }, nodeName: 'edge-1' }],
    ports: [{ name: 'dns', protocol: 'TCP', port: 53 }],
  });
  return await serve(server);
}

/** Adds this number of Services with four endpoints each, one of them in this site. */
export async function openLargeScene(services: number): Promise<Scene> {
  const server = createSmallCluster();
  putNode(server, 'cloud-1', {});
  for (let each = 0; each < services; each++) {
    const name = `service-${String(each).padStart(5, '0')}`;
    putService(server, name, ['kubernetes.io/hostname', 'site', '*']);
    const nodes = ['edge-2', 'edge-3', 'cloud-1', 'cloud-1'];
    const ip = `10.${1 + (each >> 8)}.${each & 255}`;
    putSlice(
      server,
      `${name}-1`,
      name,
      nodes.map((node, index) => ({ ip: `${ip}.${index + 1}`, node })),
    );
  }
  return await serve(server);
}

/** An annotation can contain anything, and the page must show it as text. */
export function nameWithMarkup(server: ApiServer): KubeObject {
  return server.annotate('web', 'topologyKeys', '["<img src=x onerror=alert(1)>"]');
}

async function serve(server: ApiServer): Promise<Scene> {
  const front = await startUrlFront(await server.listen());
  const proxy = await startWrapper(front.url, { readyWaitMs: 60_000 });
  const admin = await startTestAdmin(proxy);
  // The query of a kube-proxy, without which the node is not ready.
  const { labelSelector } = CURRENT_SLICES;
  const watch = await recordWatch(`${proxy.url}${SLICES}`, { ...STREAMING_LIST, labelSelector });
  return {
    server,
    url: admin.url,
    cutOff: async () => void (await front.begin({ kind: 'refuse' })),
    stopAdmin: () => admin.close(),
    async close() {
      await admin.close().catch(() => {});
      await watch.close();
      await proxy.close();
      await front.close();
      await server.close();
    },
  };
}
