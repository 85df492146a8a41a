import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import {
  createPod,
  createService,
  deletePod,
  labelNode,
  setPodReady,
  waitForSlices,
} from '../support/cluster-objects.ts';
import { type IpvsScene, startIpvsScene } from './support/ipvs-scene.ts';

/** As FabEdge's fab-proxy is used: edge nodes that serve each other within a site, with kube-proxy in IPVS mode. */
jest.setTimeout(120_000);

const POD1 = '10.244.1.1:8080';
const POD2 = '10.244.2.1:8080';
const POD3 = '10.244.3.1:8080';

let scene: IpvsScene;
/** The Service's virtual server. */
let web: string;

beforeAll(async () => {
  scene = await startIpvsScene({
    nodes: { edge1: { site: 'a' }, edge2: { site: 'a' }, edge3: { site: 'b' } },
  });
  const { admin } = scene.plane;
  const service = await createService(admin, {
    ...{ name: 'web', selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
    annotations: { topologyKeys: '["kubernetes.io/hostname","site"]' },
    spec: { type: 'NodePort' },
  });
  web = `TCP ${service.spec.clusterIP}:80`;
  await addPod('edge1', '10.244.1.1');
  await addPod('edge3', '10.244.3.1');
  await waitForSlices(admin, 'web', ['10.244.1.1', '10.244.3.1']);
});

afterAll(async () => {
  await scene?.stop();
});

async function addPod(nodeName: string, ip: string): Promise<void> {
  await createPod(scene.plane.admin, {
    name: `on-${nodeName}`,
    labels: { app: 'web' },
    nodeName,
    ip,
  });
}

async function moveToSite(nodeName: string, site: string | null): Promise<void> {
  await labelNode(scene.plane.admin, nodeName, { site });
}

test('each node serves its own Pod, else those of its site', async () => {
  await scene.expectBackends(web, { edge1: [POD1], edge2: [POD1], edge3: [POD3] });
});

test('a node that moves to another site takes up the Pods there', async () => {
  await moveToSite('edge2', 'b');
  await scene.expectBackends(web, { edge1: [POD1], edge2: [POD3], edge3: [POD3] });
});

test('a node that leaves all sites has no backend, and no other node hears of it', async () => {
  const counter = 'kubeproxy_sync_proxy_rules_endpoint_changes_total';
  const others = [scene.node('edge1'), scene.node('edge3')].map((node) => node.kubeProxy());
  const before = await Promise.all(others.map((proxy) => proxy.readCounter(counter)));
  await moveToSite('edge2', null);
  await scene.expectBackends(web, { edge1: [POD1], edge2: [], edge3: [POD3] });
  await moveToSite('edge2', 'a');
  await scene.expectBackends(web, { edge1: [POD1], edge2: [POD1], edge3: [POD3] });
  expect(await Promise.all(others.map((proxy) => proxy.readCounter(counter)))).toEqual(before);
});

test('a Pod on a node takes over there and nowhere else, until it goes', async () => {
  await addPod('edge2', '10.244.2.1');
  await scene.expectBackends(web, { edge1: [POD1], edge2: [POD2], edge3: [POD3] });
  await setPodReady(scene.plane.admin, 'on-edge1', false);
  await scene.expectBackends(web, { edge1: [POD2], edge2: [POD2], edge3: [POD3] });
  await deletePod(scene.plane.admin, 'on-edge2');
  await scene.expectBackends(web, { edge1: [], edge2: [], edge3: [POD3] });
  await setPodReady(scene.plane.admin, 'on-edge1', true);
  await scene.expectBackends(web, { edge1: [POD1], edge2: [POD1], edge3: [POD3] });
});
