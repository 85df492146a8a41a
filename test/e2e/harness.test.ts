import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import {
  annotateService,
  createNode,
  createPod,
  createService,
  createSlice,
  deletePod,
  setPodReady,
  waitForSlices,
} from './support/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from './support/control-plane.ts';
import { dial } from './support/dial.ts';
import { eventually } from './support/eventually.ts';
import { startInformers } from './support/informer.ts';
import { readBackends } from './support/kernel-table.ts';
import { startKubeProxy } from './support/kube-proxy.ts';
import { createNodeNetns, type NodeNetns } from './support/node-netns.ts';
import { waitForBackends } from './support/wrapped-node.ts';

jest.setTimeout(180_000);

/** These prove the harness itself: real components, with nothing of ours between them. */
let plane: ControlPlane;
let netns: NodeNetns;
const cleanups: (() => Promise<void>)[] = [];

beforeAll(async () => {
  plane = await startControlPlane();
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

afterAll(async () => {
  await plane?.stop();
});

/** A node with a namespace, both gone after the test. */
async function addNode(name: string): Promise<void> {
  netns = await createNodeNetns();
  cleanups.push(netns.stop);
  await createNode(plane.admin, name, { 'topology.kubernetes.io/zone': 'a' }, netns.address);
  cleanups.push(async () => await plane.admin.delete(`/api/v1/nodes/${name}`));
}

/** A Service of two Pods on the node that answer at port 8080. Returns `clusterIP:80`. */
async function addService(app: string, nodeName: string): Promise<string> {
  const { admin } = plane;
  await netns.addEndpoints(['10.244.1.5:8080', '10.244.1.6:8080']);
  const labels = { app };
  await createPod(admin, { name: `${app}-1`, labels, nodeName, ip: '10.244.1.5' });
  await createPod(admin, { name: `${app}-2`, labels, nodeName, ip: '10.244.1.6' });
  const ports = [{ port: 80, targetPort: 8080 }];
  const service = await createService(admin, { name: app, selector: labels, ports });
  await waitForSlices(admin, app, ['10.244.1.5', '10.244.1.6']);
  return `${service.spec.clusterIP}:80`;
}

describe.each([
  { version: '1.36.3', mode: 'nftables', streams: true },
  { version: '1.33.13', mode: 'iptables', streams: false },
] as const)('kube-proxy $version ($mode), straight at the API server', (proxy) => {
  test('programs ready endpoints, removes others, and rejects traffic if there are none', async () => {
    const { version, mode } = proxy;
    const nodeName = `node-${mode}`;
    const app = `app-${mode}`;
    await addNode(nodeName);
    const target = await addService(app, nodeName);
    const server = plane.serverAt(netns.hostAddress);
    const kubeconfig = plane.kubeconfig('kubeProxy', { server });
    const { binaries } = plane;
    const since = Date.now();
    const options = { binaries, netns, version, mode, nodeName, kubeconfig };
    const kubeProxy = await startKubeProxy(options);
    cleanups.push(kubeProxy.stop);

    await waitForBackends(netns, mode, { [target]: ['10.244.1.5:8080', '10.244.1.6:8080'] });
    const counts = await dial(netns, target, 60);
    expect(Object.keys(counts).sort()).toEqual(['10.244.1.5:8080', '10.244.1.6:8080']);

    await setPodReady(plane.admin, `${app}-1`, false);
    await waitForBackends(netns, mode, { [target]: ['10.244.1.6:8080'] });
    expect(await dial(netns, target, 20)).toEqual({ '10.244.1.6:8080': 20 });

    await deletePod(plane.admin, `${app}-1`);
    await deletePod(plane.admin, `${app}-2`);
    await waitForBackends(netns, mode, { [target]: [] });
    expect(await dial(netns, target, 5)).toEqual({ refused: 5 });
    expect(await readBackends(netns, mode, ['10.96.0.1:1'])).toEqual(new Map());

    const filter = { user: 'system:kube-proxy', resource: 'endpointslices', since };
    expect(plane.requests({ ...filter, verb: 'list' })).toHaveLength(proxy.streams ? 0 : 1);
    expect(plane.requests({ ...filter, verb: 'watch', open: true })).toHaveLength(1);
  });
});

test('informers of every kind hold what the API server holds, also over its restart', async () => {
  const { admin, binaries } = plane;
  await addNode('node-informers');
  const kubeconfig = plane.kubeconfig('wrapper', { server: plane.serverAt(netns.hostAddress) });
  const variants = [true, false].flatMap((streaming) =>
    (['protobuf', 'json'] as const).map((contentType) => ({
      name: `${streaming ? 'streaming' : 'list'}-${contentType}`,
      kubeconfig,
      resource: 'endpointslices' as const,
      labelSelector: '!service.kubernetes.io/headless',
      contentType,
      streaming,
    })),
  );
  const informers = startInformers({ binaries, netns, variants });
  cleanups.push(informers.stop);
  await informers.allSynced();
  await createService(admin, { name: 'by-hand', ports: [{ port: 80 }] });
  await annotateService(admin, 'by-hand', { topologyKeys: '["*"]' });
  await plane.restartApiServer();
  await createSlice(admin, {
    name: 'by-hand-1',
    service: 'by-hand',
    endpoints: [{ addresses: ['10.244.9.9'], conditions: { ready: true } }],
    ports: [{ name: '', port: 80, protocol: 'TCP' }],
  });
  const { value: dump } = await eventually(
    async () => await informers.dump(),
    (reports) =>
      [...reports.values()].every(({ handled }) =>
        handled.some(({ endpoints }) => endpoints.includes('10.244.9.9')),
      ),
    { what: 'the slice in all informers', timeoutMs: 40_000 },
  );
  const [first, ...others] = [...dump.values()];
  expect(first?.handled).toEqual(first?.store);
  for (const other of others) {
    expect(other.store).toEqual(first?.store);
    expect(other.handled).toEqual(first?.store);
  }
});

test('a node that is cut off reaches the API server again when it is reconnected', async () => {
  await addNode('node-cut');
  const url = `http://${netns.hostAddress}:${new URL(plane.server).port}/`;
  // An https port answers plain http with 400: enough to see that it can be reached.
  const status = async () => (await netns.httpGet(url))?.status;
  expect(await status()).toBe(400);
  await netns.cut();
  expect(await status()).toBeUndefined();
  await netns.reconnect();
  await eventually(status, (value) => value === 400);
});
