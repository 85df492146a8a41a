import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import {
  createNode,
  createPod,
  createService,
  deletePod,
  labelNode,
  setPodReady,
  waitForSlices,
} from '../support/cluster-objects.ts';
import { type IpvsScene, startIpvsScene } from './support/ipvs-scene.ts';
import { readTables } from './support/read-tables.ts';

/**
 * The experiment of FabEdge's own design of fab-proxy, with a stock kube-proxy in IPVS mode on each node:
 * communities {edge1, edge2} and {edge2, edge3}, one Service with Pods on edge2 and edge3. It goes on with what
 * that design demands of the cloud.
 */
jest.setTimeout(900_000);

const POD2 = '10.244.2.1:8080';
const POD3 = '10.244.3.1:8080';
const CLOUD_POD = '10.244.9.1:8080';
const NORTH = 'community.kube-proxy-wrapper.io/north';
const SOUTH = 'community.kube-proxy-wrapper.io/south';
const EDGE = { 'node-role.kubernetes.io/edge': '' };

let scene: IpvsScene;
let clusterIP: string;
/** The Service's virtual server. */
let web: string;

beforeAll(async () => {
  scene = await startIpvsScene({
    nodes: {
      edge1: { ...EDGE, [NORTH]: 'true' },
      edge2: { ...EDGE, [NORTH]: 'true', [SOUTH]: 'true' },
      edge3: { ...EDGE, [SOUTH]: 'true' },
    },
    cloudPassthrough: true,
  });
  const { admin } = scene.plane;
  const service = await createService(admin, {
    name: 'web',
    selector: { app: 'web' },
    ports: [{ port: 80, targetPort: 8080 }],
    annotations: { topologyKeys: 'fab-proxy-community' },
  });
  clusterIP = service.spec.clusterIP;
  web = `TCP ${clusterIP}:80`;
  await createNode(admin, 'cloud1', {});
  await addPod('edge2', '10.244.2.1');
  await addPod('edge3', '10.244.3.1');
  await waitForSlices(admin, 'web', ['10.244.2.1', '10.244.3.1']);
});

afterAll(async () => {
  await scene?.stop();
});

async function addPod(nodeName: string, ip: string): Promise<void> {
  const name = `on-${nodeName}`;
  await createPod(scene.plane.admin, { name, labels: { app: 'web' }, nodeName, ip });
}

const setReady = async (nodeName: string, ready: boolean) =>
  await setPodReady(scene.plane.admin, `on-${nodeName}`, ready);

const label = async (nodeName: string, labels: Record<string, string | null>) =>
  await labelNode(scene.plane.admin, nodeName, labels);

/** Addresses on a node's kube-ipvs0. */
async function addressesOf(nodeName: string): Promise<readonly string[]> {
  const [tables] = await readTables(scene.machine, [nodeName]);
  return tables?.addresses ?? [];
}

test('edge1 sees the Pod of edge2 only; edge2 and edge3 see their own', async () => {
  await scene.expectBackends(web, { edge1: [POD2], edge2: [POD2], edge3: [POD3] });
});

test('when the Pod of edge2 is not ready, edge2 uses edge3, and edge1 has no endpoint', async () => {
  await setReady('edge2', false);
  await scene.expectBackends(web, { edge1: [], edge2: [POD3], edge3: [POD3] });
  await setReady('edge2', true);
  await scene.expectBackends(web, { edge1: [POD2], edge2: [POD2], edge3: [POD3] });
});

test('with only cloud endpoints there is no virtual server and no address', async () => {
  await addPod('cloud1', '10.244.9.1');
  await scene.expectBackends(web, { edge1: [POD2], edge2: [POD2], edge3: [POD3] });
  await setReady('edge2', false);
  await scene.expectBackends(web, { edge1: undefined, edge2: [POD3], edge3: [POD3] });
  await setReady('edge3', false);
  await scene.expectBackends(web, { edge1: undefined, edge2: undefined, edge3: undefined });
  for (const node of ['edge1', 'edge2', 'edge3']) {
    expect(await addressesOf(node)).not.toContain(clusterIP);
  }
});

test('it is back as soon as a nearer endpoint is ready', async () => {
  await setReady('edge2', true);
  await scene.expectBackends(web, { edge1: [POD2], edge2: [POD2], edge3: [POD2] });
  expect(await addressesOf('edge3')).toContain(clusterIP);
});

test('a node that becomes part of the cloud sees everything', async () => {
  await label('edge3', { 'node-role.kubernetes.io/edge': null });
  await setReady('edge3', true);
  await scene.expectBackends(web, {
    edge1: [POD2],
    edge2: [POD2],
    edge3: [POD2, POD3, CLOUD_POD].sort(),
  });
  await label('edge3', EDGE);
  await scene.expectBackends(web, { edge1: [POD2], edge2: [POD2], edge3: [POD3] });
});

test('without endpoints on the edge and in the cloud the address stays, and refuses', async () => {
  for (const node of ['edge2', 'edge3', 'cloud1']) {
    await deletePod(scene.plane.admin, `on-${node}`);
  }
  await scene.expectBackends(web, { edge1: [], edge2: [], edge3: [] });
});
