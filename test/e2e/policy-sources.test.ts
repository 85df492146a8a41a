import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { annotateService } from './support/cluster-objects.ts';
import {
  annotateNamespace,
  createPolicyNamespace,
  follow,
  keep,
  PLACES,
  type Place,
  type PolicyScene,
  type SceneService,
  startPolicyScene,
} from './support/policy-scene.ts';
import type { ServedNode } from './support/served-node.ts';

jest.setTimeout(180_000);

const ALL: readonly Place[] = PLACES;
const ZONE = 'topology.kubernetes.io/zone';
const REGION = 'topology.kubernetes.io/region';
const CLOUD = 'kube-proxy-wrapper.io/cloud';
const HOST_ELSE_CLOUD = `["kubernetes.io/hostname","${CLOUD}"]`;

let scene: PolicyScene;
/** Has a default and other settings; its labels are those of `here`. */
let strict: ServedNode;

beforeAll(async () => {
  scene = await startPolicyScene([
    {
      nodeName: 'here',
      mode: 'nftables',
      settings: { namespacePolicies: true },
    },
    {
      nodeName: 'strict',
      mode: 'iptables',
      settings: {
        defaultTopologyKeys: 'prefer-same-zone',
        namespacePolicies: true,
        minReady: { [REGION]: 3 },
        returnDelaySeconds: 3,
      },
    },
  ]);
  strict = scene.fleet.of('strict');
});

afterAll(async () => {
  await scene?.stop();
});

/** Expects what of a Service is seen on the node without, and on that with a default. */
async function both(
  service: SceneService,
  onHere: readonly Place[],
  onStrict: readonly Place[] = onHere,
): Promise<void> {
  await follow(scene.here, [[service, onHere]]);
  await follow(strict, [[service, onStrict]]);
}

const ZONAL: readonly Place[] = ['here', 'near'];
const REGIONAL: readonly Place[] = ['here', 'near', 'mid'];

describe('what a Service follows', () => {
  test('is the default of the node, else nothing', async () => {
    const service = await scene.serve({ name: 'by-default' });
    await both(service, ALL, ZONAL);
    await annotateService(scene.plane.admin, service.name, { topologyKeys: '[]' });
    await both(service, ALL);
    await annotateService(scene.plane.admin, service.name, { topologyKeys: null });
    await both(service, ALL, ZONAL);
  });

  test('is its Namespace over the default, and itself over both', async () => {
    const { plane } = scene;
    const namespace = 'regional';
    await createPolicyNamespace(plane, namespace, `["${REGION}"]`);
    const plain = await scene.serve({ name: 'plain', namespace });
    const annotations = { topologyKeys: '["kubernetes.io/hostname","*"]' };
    const own = await scene.serve({ name: 'own', namespace, annotations });
    await both(plain, REGIONAL);
    await both(own, ['here'], ALL);
    await annotateNamespace(plane, namespace, 'same-zone-only');
    await both(plain, ZONAL);
    await both(own, ['here'], ALL);
    await annotateNamespace(plane, namespace, '[]');
    await both(plain, ALL);
    await annotateNamespace(plane, namespace, 'no such preset');
    // A Namespace that comes later shows that this has been heard of.
    await createPolicyNamespace(plane, 'later', `["${REGION}"]`);
    const later = await scene.serve({ name: 'later', namespace: 'later' });
    await follow(strict, [
      [later, REGIONAL],
      [plain, ALL],
    ]);
    await keep(strict, [[plain, ALL]]);
    await annotateNamespace(plane, namespace, null);
    await both(plain, ALL, ZONAL);
    await annotateService(plane.admin, 'own', { topologyKeys: null }, namespace);
    await both(own, ALL, ZONAL);
    await annotateNamespace(plane, namespace, `["${REGION}"]`);
    await both(own, REGIONAL);
  });

  test('is nothing where its own annotation cannot be read', async () => {
    const service = await scene.serve({
      name: 'unreadable',
      annotations: { topologyKeys: '["*","kubernetes.io/hostname"]' },
    });
    await both(service, ALL);
  });
});

describe('switched off by kube-proxy-wrapper.io/filter', () => {
  const OFF = { 'kube-proxy-wrapper.io/filter': 'off' };
  const ON = { 'kube-proxy-wrapper.io/filter': null };
  const annotations = { topologyKeys: 'same-zone-only' };

  test('a Service is seen as it is, on every node', async () => {
    const service = await scene.serve({ name: 'switched', annotations });
    await both(service, ZONAL);
    await annotateService(scene.plane.admin, service.name, OFF);
    await both(service, ALL);
    await annotateService(scene.plane.admin, service.name, ON);
    await both(service, ZONAL);
  });

  test('a node sees all of everything, and the others what they saw', async () => {
    const first = await scene.serve({ name: 'off-1', annotations });
    const second = await scene.serve({ name: 'off-2', annotations: { topologyKeys: '["none"]' } });
    await both(second, []);
    const path = '/api/v1/nodes/here';
    await scene.plane.admin.patch(path, { metadata: { annotations: OFF } });
    await follow(
      scene.here,
      [first, second].map((service) => [service, ALL]),
    );
    const created = await scene.serve({ name: 'off-3', annotations });
    await both(created, ALL, ZONAL);
    await keep(strict, [
      [first, ZONAL],
      [second, []],
    ]);
    await scene.plane.admin.patch(path, { metadata: { annotations: ON } });
    await follow(scene.here, [
      [first, ZONAL],
      [second, []],
      [created, ZONAL],
    ]);
  });
});

describe('minReady', () => {
  test('of a Service lets a key count only with that many ready endpoints', async () => {
    const service = await scene.serve({
      name: 'two-in-zone',
      annotations: {
        topologyKeys: 'prefer-same-zone',
        'kube-proxy-wrapper.io/min-ready': `{"${ZONE}":2}`,
        'kube-proxy-wrapper.io/return-delay': '0s',
      },
    });
    await both(service, ZONAL);
    await service.setReady('near', false);
    await both(service, ['here', 'mid', 'far']);
    await service.setReady('near', true);
    await both(service, ZONAL);
  });

  test('of the settings does the same for every Service with the key', async () => {
    const annotations = { topologyKeys: `["${REGION}","*"]` };
    const service = await scene.serve({ name: 'three-in-region', annotations });
    await both(service, REGIONAL);
    await service.setReady('mid', false);
    await both(service, ZONAL, ['here', 'near', 'far']);
  });

  test('that no key fulfils cuts no traffic', async () => {
    const annotations = {
      topologyKeys: 'same-zone-only',
      'kube-proxy-wrapper.io/min-ready': `{"${ZONE}":9}`,
    };
    const service = await scene.serve({ name: 'nine-in-zone', annotations });
    await both(service, ZONAL);
    await service.setReady('here', false);
    await both(service, ['near']);
  });
});

describe('returnDelay', () => {
  /** Traffic leaves immediately and returns only after the delay. An interruption starts the delay again. */
  async function expectDelayed(service: SceneService): Promise<void> {
    await follow(scene.here, [[service, ['here']]]);
    await service.setReady('here', false);
    expect(await follow(scene.here, [[service, ['far']]], 2_000)).toBeLessThan(2_000);
    await service.setReady('here', true);
    await keep(scene.here, [[service, ['far']]], 1_500);
    await service.setReady('here', false);
    await sleep(300);
    const start = performance.now();
    await service.setReady('here', true);
    await keep(scene.here, [[service, ['far']]], 2_500);
    await follow(scene.here, [[service, ['here']]]);
    const waited = performance.now() - start;
    expect(waited).toBeGreaterThan(2_900);
    expect(waited).toBeLessThan(5_000);
  }

  test('of a Service keeps traffic away until the nearer key has been ready for so long', async () => {
    const annotations = {
      topologyKeys: HOST_ELSE_CLOUD,
      'kube-proxy-wrapper.io/return-delay': '3s',
    };
    await expectDelayed(await scene.serve({ name: 'delayed', annotations }));
  });

  test('of the settings does the same, and none is set elsewhere', async () => {
    const annotations = { topologyKeys: `["${ZONE}","${CLOUD}"]` };
    const service = await scene.serve({ name: 'delayed-too', annotations });
    await both(service, ZONAL);
    for (const place of ZONAL) await service.setReady(place, false);
    await both(service, ['far']);
    const start = performance.now();
    for (const place of ZONAL) await service.setReady(place, true);
    await follow(scene.here, [[service, ZONAL]], 2_000);
    // Shorter than the delay, which starts a moment after this.
    await keep(strict, [[service, ['far']]], 2_500 - (performance.now() - start));
    await follow(strict, [[service, ZONAL]]);
    expect(performance.now() - start).toBeGreaterThan(2_900);
  });

  test('does not keep traffic at a key where nothing is ready', async () => {
    const annotations = {
      topologyKeys: HOST_ELSE_CLOUD,
      'kube-proxy-wrapper.io/return-delay': '3s',
    };
    const service = await scene.serve({ name: 'delayed-last', annotations });
    await service.setReady('here', false);
    await follow(scene.here, [[service, ['far']]]);
    await service.setReady('here', true);
    await keep(scene.here, [[service, ['far']]]);
    await service.setReady('far', false);
    expect(await follow(scene.here, [[service, ['here']]])).toBeLessThan(2_000);
  });
});
