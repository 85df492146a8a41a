import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import {
  annotateService,
  createNode,
  createPod,
  createService,
  createSlice,
  deleteService,
  labelNode,
  setPodReady,
  waitForSlices,
} from '../support/cluster-objects.ts';
import { eventually } from '../support/eventually.ts';
import { createPlacedService, setEndpointReady } from '../support/placed-service.ts';
import type { IpvsNode } from './support/ipvs-node.ts';
import { type IpvsScene, startIpvsScene } from './support/ipvs-scene.ts';
import { backendsOfIpvs } from './support/parse-ipvs.ts';

/** A stock kube-proxy in IPVS mode behind the wrapper, on the node edge1 of site a. */
jest.setTimeout(900_000);

const NEAR = '10.244.1.5:8080';
const FAR = '10.244.1.6:8080';

let scene: IpvsScene;
let edge1: IpvsNode;
let web: VirtualAddresses;
let plain: VirtualAddresses;

/** A Service's virtual servers. */
interface VirtualAddresses {
  readonly clusterIP: string;
  readonly cluster: string;
  readonly nodePort: string;
}

beforeAll(async () => {
  scene = await startIpvsScene(createObjects);
  ({ edge1 } = scene);
});

afterAll(async () => {
  await scene?.stop();
});

async function createObjects({ admin }: IpvsScene['plane']): Promise<void> {
  await createNode(admin, 'near', { site: 'a' });
  await createNode(admin, 'far', { site: 'b' });
  for (const app of ['web', 'plain']) {
    const labels = { app };
    await createPod(admin, { name: `${app}-near`, labels, nodeName: 'near', ip: '10.244.1.5' });
    await createPod(admin, { name: `${app}-far`, labels, nodeName: 'far', ip: '10.244.1.6' });
  }
  const make = async (name: string, annotations: Record<string, string>) => {
    const ports = [{ port: 80, targetPort: 8080 }];
    const how = { name, annotations, ports, selector: { app: name }, spec: { type: 'NodePort' } };
    const { spec } = await createService(admin, how);
    return {
      clusterIP: spec.clusterIP,
      cluster: `TCP ${spec.clusterIP}:80`,
      nodePort: `TCP 10.77.1.2:${spec.ports[0].nodePort}`,
    };
  };
  web = await make('web', { topologyKeys: '["site","*"]' });
  plain = await make('plain', {});
  for (const app of ['web', 'plain']) await waitForSlices(admin, app, ['10.244.1.5', '10.244.1.6']);
}

/** Makes a change and expects the Service's table to follow, at both of its addresses, and all else to stay. */
async function follow(change: () => Promise<unknown>, backends: readonly string[]): Promise<void> {
  await change();
  await scene.expectBackends(web.cluster, backends);
  const table = backendsOfIpvs((await edge1.readTables()).ipvs);
  expect([table.get(web.nodePort), table.get(plain.cluster), table.get(plain.nodePort)]).toEqual([
    backends,
    [NEAR, FAR],
    [NEAR, FAR],
  ]);
}

const label = async (site: string | null) => await labelNode(scene.plane.admin, 'edge1', { site });
const annotate = async (topologyKeys: string | null) =>
  await annotateService(scene.plane.admin, 'web', { topologyKeys });

test('a Service with keys has the chosen real servers, one without has all, at cluster IP and node port', async () => {
  await follow(async () => {}, [NEAR]);
  const { addresses } = await edge1.readTables();
  expect(addresses).toEqual(['10.96.0.1', web.clusterIP, plain.clusterIP].sort());
});

test('the table follows the labels of its own node', async () => {
  await follow(() => label('b'), [FAR]);
  await follow(() => label(null), [NEAR, FAR]);
  await follow(() => label('a'), [NEAR]);
});

test('the table follows the annotation of the Service', async () => {
  await follow(() => annotate(null), [NEAR, FAR]);
  await follow(() => annotate('["kubernetes.io/hostname"]'), []);
  await follow(() => annotate('["site","*"]'), [NEAR]);
});

test('the table follows the readiness of a Pod', async () => {
  const ready = async (value: boolean) => await setPodReady(scene.plane.admin, 'web-near', value);
  await follow(() => ready(false), [FAR]);
  await follow(() => ready(true), [NEAR]);
});

test('kube-proxy gets no event for an endpoint that comes and goes elsewhere', async () => {
  const { admin } = scene.plane;
  const counter = 'kubeproxy_sync_proxy_rules_endpoint_changes_total';
  const before = await edge1.kubeProxy().readCounter(counter);
  const pod = { name: 'web-new', labels: { app: 'web' }, nodeName: 'far', ip: '10.244.1.7' };
  await createPod(admin, pod);
  await waitForSlices(admin, 'web', ['10.244.1.5', '10.244.1.6', '10.244.1.7']);
  await admin.delete('/api/v1/namespaces/default/pods/web-new');
  await waitForSlices(admin, 'web', ['10.244.1.5', '10.244.1.6']);
  // Events come in order: when this one is there, those before it have passed the wrapper.
  const { spec } = await createService(admin, { name: 'marker', ports: [{ port: 80 }] });
  const endpoints = [{ addresses: ['10.244.9.9'], conditions: { ready: true } }];
  const ports = [{ name: '', port: 8080, protocol: 'TCP' }];
  await createSlice(admin, { name: 'marker', service: 'marker', endpoints, ports });
  await scene.expectBackends(`TCP ${spec.clusterIP}:80`, ['10.244.9.9:8080']);
  expect(await edge1.kubeProxy().readCounter(counter)).toBe(before + 1);
});

test.each(['lc', 'sh'])(
  'kube-proxy with --ipvs-scheduler=%s has the same table',
  async (scheduler) => {
    await edge1.startKubeProxy(scheduler);
    await scene.expectBackends(web.cluster, [NEAR]);
    const { ipvs } = await edge1.readTables();
    expect(new Set(ipvs.map((server) => server.scheduler))).toEqual(new Set([scheduler]));
  },
);

test('a real server that leaves with a connection open stays at weight 0, and can come back', async () => {
  // The Pod's address is outside of the node, whose node ports would be at any address that it has.
  await scene.machine.exec('ip address add 10.244.1.5/32 dev lo');
  await scene.machine.exec('nc -l -p 8080 -e sleep 60 >/dev/null 2>&1 &');
  await edge1.exec(`sleep 60 | nc ${web.clusterIP} 80 >/dev/null 2>&1 &`);
  await edge1.exec('until ipvsadm -Lnc | grep -q ESTABLISHED; do sleep 0.1; done');
  await follow(() => label('b'), [FAR]);
  expect(await realServersOfWeb()).toEqual({ [NEAR]: 0, [FAR]: 1 });
  await follow(() => label('a'), [NEAR]);
  expect(await realServersOfWeb()).toEqual({ [NEAR]: 1 });
});

/** Weights by endpoint. */
async function realServersOfWeb(): Promise<Record<string, number>> {
  const { ipvs } = await edge1.readTables();
  const servers = ipvs.find(({ name }) => name === web.cluster)?.realServers ?? [];
  return Object.fromEntries(servers.map(({ endpoint, weight }) => [endpoint, weight]));
}

// The endpoint here is in another zone than its node, so the zone key does not match it.
test('with externalTrafficPolicy Local, endpoints of its own node stay, for the node port and its health check', async () => {
  const { admin } = scene.plane;
  const zone = 'topology.kubernetes.io/zone';
  await labelNode(admin, 'edge1', { [zone]: 'z1' });
  const { spec } = await createService(admin, {
    name: 'external',
    annotations: { topologyKeys: `["${zone}"]` },
    ports: [{ port: 80, targetPort: 8080 }],
    spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local' },
  });
  const placed = [
    ['10.244.1.8', 'edge1', 'z2'],
    ['10.244.1.5', 'near', 'z1'],
    ['10.244.1.6', 'far', 'z2'],
  ];
  const endpoints = placed.map(([address, nodeName, own]) => ({
    addresses: [address],
    nodeName,
    zone: own,
    conditions: { ready: true },
  }));
  const ports = [{ name: '', port: 8080, protocol: 'TCP' }];
  await createSlice(admin, { name: 'external', service: 'external', endpoints, ports });
  const here = '10.244.1.8:8080';
  await scene.expectBackends(`TCP ${spec.clusterIP}:80`, [NEAR, here]);
  await scene.expectBackends(`TCP 10.77.1.2:${spec.ports[0].nodePort}`, [here]);
  const health = `http://10.77.1.2:${spec.healthCheckNodePort}/healthz`;
  // kube-proxy opens the port of the health check after it has written its table.
  await eventually(
    async () => await edge1.exec(`wget -q -O - ${health}`),
    (answer) => answer.includes('"localEndpoints": 1'),
    { timeoutMs: 60_000, intervalMs: 250, what: 'the health check of the node port' },
  );
  await deleteService(admin, 'external');
});

test('a Service with ready endpoints in the cloud only has no virtual server and no address, until a nearer one is ready', async () => {
  const { admin } = scene.plane;
  const edge = 'node-role.kubernetes.io/edge';
  await labelNode(admin, 'edge1', { [edge]: '' });
  const { service, target } = await createPlacedService(
    admin,
    { name: 'cloudy', annotations: { topologyKeys: 'fab-proxy' } },
    [
      { at: '10.244.1.8:8080', node: 'edge1' },
      { at: FAR, node: 'far' },
    ],
  );
  const { clusterIP } = service.spec;
  const expectHere = async (ready: boolean, backends: readonly string[] | undefined) => {
    await setEndpointReady(admin, 'cloudy', 0, ready);
    await scene.expectBackends(`TCP ${target}`, backends);
    const { addresses } = await edge1.readTables();
    expect(addresses.includes(clusterIP)).toBe(backends !== undefined);
  };
  await expectHere(true, ['10.244.1.8:8080']);
  await expectHere(false, undefined);
  await expectHere(true, ['10.244.1.8:8080']);
  // Without an endpoint on the edge and in the cloud the address stays, and refuses.
  await setEndpointReady(admin, 'cloudy', 1, false);
  await expectHere(false, []);
  await deleteService(admin, 'cloudy');
  await labelNode(admin, 'edge1', { [edge]: null });
});

test('a Service that is deleted leaves neither virtual server nor address', async () => {
  await deleteService(scene.plane.admin, 'web');
  await scene.expectBackends(web.cluster, undefined);
  const { addresses } = await edge1.readTables();
  expect(addresses).not.toContain(web.clusterIP);
  expect(addresses).toContain(plain.clusterIP);
});
