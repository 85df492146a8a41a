import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { KubeObject } from './support/api.ts';
import {
  annotateService,
  createService,
  createSlice,
  labelNode,
} from './support/cluster-objects.ts';
import { dial } from './support/dial.ts';
import { eventually } from './support/eventually.ts';
import { type Placed, putSlice, setEndpointReady, toEndpoint } from './support/placed-service.ts';
import {
  FAR,
  FAR6,
  FIRST,
  MID,
  NEAR,
  NEAR6,
  shownAddresses,
  startTrafficScene,
  type TrafficScene,
  ZONE,
} from './support/traffic-scene.ts';

jest.setTimeout(180_000);

/** Of a Service that EdgeMesh serves. */
const EDGEMESH = 'service.edgemesh.kubeedge.io/service-proxy-name';
const ZONE_ELSE_ANY = { topologyKeys: 'prefer-same-zone' };

let scene: TrafficScene;

beforeAll(async () => {
  scene = await startTrafficScene();
});

afterAll(async () => {
  await scene?.stop();
});

const nodePortOf = ({ spec }: KubeObject): number => spec.ports[0].nodePort;
const ipOf = ({ at }: Placed): string => at.replace(':80', '');

describe('a Service with a traffic policy of its own', () => {
  const spec = { type: 'NodePort' };
  const endpoints = [FIRST, NEAR, FAR];

  test('internal Local is left alone: its ClusterIP is for the own node, its NodePort for all', async () => {
    const { first, second } = scene;
    const local = { ...spec, internalTrafficPolicy: 'Local' };
    const { service, target } = await scene.serve('internal', endpoints, local);
    await first.sees({ [target]: [FIRST.at] });
    await second.sees({ [target]: [] });
    const all = endpoints.map(ipOf).sort();
    for (const node of [first, second]) {
      expect(await shownAddresses(node, 'internal')).toEqual(all);
    }
    const counts = await dial(first.netns, `${first.netns.address}:${nodePortOf(service)}`, 60);
    expect(Object.keys(counts).sort()).toEqual(endpoints.map(({ at }) => at).sort());
  });

  // The endpoint here is in another zone than its node, so the zone key does not match it.
  test.each([
    { mode: 'nftables', here: 'first', elsewhere: 'second', at: FIRST.at },
    { mode: 'iptables', here: 'second', elsewhere: 'first', at: '10.244.1.9:80' },
  ] as const)(
    'external Local is decided, and keeps the endpoints on its node ($mode)',
    async ({ here, elsewhere, at, mode }) => {
      const [node, other] = [scene[here], scene[elsewhere]];
      expect(node.mode).toBe(mode);
      if (at !== FIRST.at) await node.netns.addEndpoints([at]);
      const own: Placed = { at, node: here, zone: 'z3' };
      const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' };
      const name = `external-${mode}`;
      const { service, target } = await scene.serve(name, [own, NEAR, FAR], local);
      await node.sees({ [target]: [at, NEAR.at] });
      await other.sees({ [target]: [NEAR.at] });
      const inside = await dial(node.netns, target, 60);
      expect(Object.keys(inside).sort()).toEqual([NEAR.at, at].sort());
      const outside = async (client: typeof node, server: typeof node) =>
        Object.keys(
          await dial(client.netns, `${server.netns.address}:${nodePortOf(service)}`, 20, 500),
        );
      expect(await outside(other, node)).toEqual([at]);
      expect(await outside(node, other)).toEqual(['timeout']);
      const health = async ({ netns }: typeof node) =>
        await netns.httpGet(`http://${netns.address}:${service.spec.healthCheckNodePort}/healthz`);
      await eventually(
        async () => [(await health(node))?.status, (await health(other))?.status],
        ([mine, others]) => mine === 200 && others === 503,
        { what: 'the health check node port counts the endpoints of its own node' },
      );
      await setEndpointReady(scene.plane.admin, name, 0, false);
      await node.sees({ [target]: [NEAR.at] });
      await eventually(
        async () => (await health(node))?.status,
        (status) => status === 503,
        { what: 'an endpoint that is not ready does not count' },
      );
    },
  );
});

describe('hints', () => {
  const hinted = [
    { ...NEAR, hint: 'z1' },
    { ...MID, hint: 'z2' },
  ];
  const spec = { trafficDistribution: 'PreferClose' };

  test('are cut where a policy selects, so that kube-proxy does not narrow the rest', async () => {
    // That far has none keeps kube-proxy from following hints, until far is cut.
    await labelNode(scene.plane.admin, 'far', { site: 'b' });
    const keys = { topologyKeys: '["site"]' };
    const { target } = await scene.serve('hints-cut', [...hinted, FAR], spec, keys);
    await scene.see(target, [NEAR, MID]);
    await scene.answer(target, [NEAR, MID]);
    await labelNode(scene.plane.admin, 'far', { site: 'a' });
    await scene.see(target, [NEAR, MID, FAR]);
  });

  test('are kept where none does, for kube-proxy to follow', async () => {
    const { target } = await scene.serve('hints-kept', hinted, spec, { topologyKeys: '[]' });
    await scene.see(target, [NEAR]);
    await annotateService(scene.plane.admin, 'hints-kept', { topologyKeys: '["*"]' });
    await scene.see(target, [NEAR, MID]);
    await annotateService(scene.plane.admin, 'hints-kept', { topologyKeys: '[]' });
    await scene.see(target, [NEAR]);
  });
});

describe('Services of another kind', () => {
  test('headless ones are left alone, unless the settings ask for them', async () => {
    await scene.serve('headless', [NEAR, FAR], { clusterIP: 'None' });
    const shown = async () => [
      await shownAddresses(scene.first, 'headless'),
      await shownAddresses(scene.second, 'headless'),
    ];
    const wanted = [[ipOf(NEAR), ipOf(FAR)], [ipOf(NEAR)]];
    await eventually(shown, (found) => JSON.stringify(found) === JSON.stringify(wanted));
  });

  test('default/kubernetes follows no default, only its own annotation', async () => {
    const { admin, server } = scene.plane;
    const target = '10.96.0.1:443';
    const apiServer: Placed = { at: `10.99.0.1:${new URL(server).port}` };
    await scene.see(target, [apiServer]);
    await annotateService(admin, 'kubernetes', { topologyKeys: 'same-zone-only' });
    await scene.see(target, []);
    await annotateService(admin, 'kubernetes', { topologyKeys: null });
    await scene.see(target, [apiServer]);
  });

  test('those that EdgeMesh serves are in no table of the second node, except default/kubernetes', async () => {
    const { first, second, plane } = scene;
    const patch = async (name: string, value: string | null) =>
      await plane.admin.patch(`/api/v1/namespaces/default/services/${name}`, {
        metadata: { labels: { [EDGEMESH]: value } },
      });
    const { target } = await scene.serve('meshed', [NEAR]);
    await scene.see(target, [NEAR]);
    await patch('kubernetes', 'edgemesh');
    await patch('meshed', 'edgemesh');
    await second.sees({ [target]: undefined });
    const kubernetes = `10.99.0.1:${new URL(plane.server).port}`;
    await second.keeps({ [target]: undefined, '10.96.0.1:443': [kubernetes] });
    await first.keeps({ [target]: [NEAR.at] });
    expect(await shownAddresses(second, 'meshed')).toBeUndefined();
    await patch('meshed', null);
    await scene.see(target, [NEAR]);
    await patch('kubernetes', null);
  });

  test('ExternalName has no endpoints to filter, and becomes a Service like others', async () => {
    const { admin } = scene.plane;
    const spec = { type: 'ExternalName', externalName: 'example.com' };
    await createService(admin, { name: 'external-name', ports: [{ port: 80 }], spec });
    await putSlice(admin, { name: 'external-name', service: 'external-name' }, [NEAR, FAR]);
    const path = '/api/v1/namespaces/default/services/external-name';
    for (const { wrapper, netns } of scene.fleet.all) {
      await eventually(
        async () => await netns.httpGet(`${wrapper().url}${path}`),
        (answer) => answer?.status === 200 && answer.body.includes('example.com'),
      );
    }
    const changed = { spec: { type: 'ClusterIP', externalName: null } };
    const { spec: after } = await admin.patch(path, changed);
    await scene.see(`${after.clusterIP}:80`, [NEAR]);
  });

  test('those with one port number for UDP and TCP, as DNS has, are filtered for both', async () => {
    const { admin } = scene.plane;
    const ports = [
      { name: 'dns', port: 53, protocol: 'UDP' },
      { name: 'dns-tcp', port: 53, protocol: 'TCP' },
    ] as const;
    const { spec } = await createService(admin, {
      name: 'dns',
      ports,
      annotations: ZONE_ELSE_ANY,
    });
    const endpoints = [NEAR, FAR].map(toEndpoint);
    await createSlice(admin, { name: 'dns', service: 'dns', endpoints, ports });
    const target = `${spec.clusterIP}:53`;
    const see = async (placed: Placed) => {
      const backends = [`${ipOf(placed)}:53`];
      await scene.fleet.each(
        async (node) => await node.sees({ [target]: backends, [`${target}/udp`]: backends }),
      );
    };
    await see(NEAR);
    await setEndpointReady(admin, 'dns', 0, false);
    await see(FAR);
  });

  test('Endpoints made by hand are filtered as the slices that mirror them', async () => {
    const { admin } = scene.plane;
    const ports = [{ port: 80 }];
    const { spec } = await createService(admin, { name: 'by-hand', ports });
    const addresses = [NEAR, FAR].map((placed) => ({ ip: ipOf(placed), nodeName: placed.node }));
    await admin.create('/api/v1/namespaces/default/endpoints', {
      metadata: { name: 'by-hand' },
      subsets: [{ addresses, ports }],
    });
    // A mirrored endpoint has a node and no zone: the zone of its node counts.
    await scene.see(`${spec.clusterIP}:80`, [NEAR]);
    await labelNode(admin, 'far', { [ZONE]: 'z1' });
    await scene.see(`${spec.clusterIP}:80`, [NEAR, FAR]);
    await labelNode(admin, 'far', { [ZONE]: 'z3' });
    await scene.see(`${spec.clusterIP}:80`, [NEAR]);
  });
});

describe('endpoints of another kind', () => {
  test('without a node match no key but *', async () => {
    const { node: _, ...nowhere } = { ...MID, zone: 'z1' };
    const { target } = await scene.serve('nowhere', [NEAR, nowhere, FAR], {}, ZONE_ELSE_ANY);
    await scene.see(target, [NEAR]);
    await setEndpointReady(scene.plane.admin, 'nowhere', 0, false);
    await scene.see(target, [nowhere, FAR]);
    await annotateService(scene.plane.admin, 'nowhere', { topologyKeys: 'same-zone-only' });
    await scene.see(target, []);
    await scene.answer(target, []);
  });
});

describe('what is decided separately', () => {
  test('is each address family', async () => {
    const { admin } = scene.plane;
    const families = { ipFamilyPolicy: 'RequireDualStack' };
    const { service, target } = await scene.serve('dual', [FAR], families, ZONE_ELSE_ANY);
    const target6 = `[${service.spec.clusterIPs[1]}]:80`;
    await putSlice(admin, { name: 'dual-6', service: 'dual' }, [NEAR6, FAR6]);
    await scene.see(target, [FAR]);
    await scene.see(target6, [NEAR6]);
    await scene.answer(target, [FAR]);
    await scene.answer(target6, [NEAR6]);
    await setEndpointReady(admin, 'dual-6', 0, false);
    await scene.see(target6, [FAR6]);
    await scene.answer(target6, [FAR6]);
    await putSlice(admin, { name: 'dual-4', service: 'dual' }, [NEAR]);
    await scene.see(target, [NEAR]);
    await scene.see(target6, [FAR6]);
  });

  test('is each port, when they have different backends', async () => {
    const { admin } = scene.plane;
    const ports = [
      { name: 'http', port: 80 },
      { name: 'metrics', port: 90, targetPort: 80 },
    ];
    const { spec } = await createService(admin, {
      name: 'ports',
      ports,
      annotations: ZONE_ELSE_ANY,
    });
    const [http, metrics] = [`${spec.clusterIP}:80`, `${spec.clusterIP}:90`];
    await putSlice(admin, { name: 'ports-http', service: 'ports' }, [NEAR, FAR], 'http');
    await putSlice(admin, { name: 'ports-metrics', service: 'ports' }, [MID, FAR], 'metrics');
    await scene.see(http, [NEAR]);
    await scene.see(metrics, [MID, FAR]);
    await scene.answer(http, [NEAR]);
    await scene.answer(metrics, [MID, FAR]);
    await setEndpointReady(admin, 'ports-http', 0, false);
    await scene.see(http, [FAR]);
    await putSlice(admin, { name: 'ports-near', service: 'ports' }, [NEAR], 'metrics');
    await scene.see(metrics, [NEAR]);
    await scene.see(http, [FAR]);
  });
});
