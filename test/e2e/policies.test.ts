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
  type SceneServiceOptions,
  startPolicyScene,
} from './support/policy-scene.ts';
import type { ServedNode } from './support/served-node.ts';

jest.setTimeout(180_000);

const HOST = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';
const REGION = 'topology.kubernetes.io/region';
const CLOUD = 'kube-proxy-wrapper.io/cloud';
const OFF = { 'kube-proxy-wrapper.io/filter': 'off' };
const ON = { 'kube-proxy-wrapper.io/filter': null };
const ALL: readonly Place[] = PLACES;
const NEAR: readonly Place[] = ['here', 'near'];

let scene: PolicyScene;
/** Has a default, and reads the annotations of no other system. Its labels are those of `here`; it has no endpoint. */
let strict: ServedNode;

beforeAll(async () => {
  scene = await startPolicyScene([
    {
      nodeName: 'here',
      mode: 'nftables',
      settings: { namespacePolicies: true, compatibility: ['openyurt', 'kubeedge'] },
    },
    {
      nodeName: 'strict',
      mode: 'iptables',
      settings: {
        defaultTopologyKeys: 'prefer-same-zone',
        namespacePolicies: true,
        minReady: { [REGION]: 3 },
      },
    },
  ]);
  strict = scene.fleet.of('strict');
  await createPolicyNamespace(scene.plane, 'regional', `["${REGION}"]`);
});

afterAll(async () => {
  await scene?.stop();
});

const keyed = (topologyKeys: string) => ({ topologyKeys });
/** With all ready, then without here, then without near, then without mid. */
type AsTheyFail = readonly [readonly Place[], readonly Place[], readonly Place[], readonly Place[]];
const UNFILTERED: AsTheyFail = [ALL, ['near', 'mid', 'far'], ['mid', 'far'], ['far']];
const NOTHING: AsTheyFail = [[], [], [], []];
const IN_ZONE: AsTheyFail = [NEAR, ['near'], [], []];
const IN_ZONE_ELSE_ANY: AsTheyFail = [NEAR, ['near'], ['mid', 'far'], ['far']];

interface Row extends Omit<SceneServiceOptions, 'name'> {
  readonly means: string;
  readonly here: AsTheyFail;
  /** Default: as here. */
  readonly strict?: AsTheyFail;
}

/** Where each policy comes from, and what a node sees of it. */
const ROWS: readonly Row[] = [
  {
    means: 'only node local',
    annotations: keyed(`["${HOST}"]`),
    here: [['here'], [], [], []],
    strict: NOTHING,
  },
  {
    means: 'node local, else any',
    annotations: keyed(`["${HOST}","*"]`),
    here: [['here'], ['near', 'mid', 'far'], ['mid', 'far'], ['far']],
    strict: UNFILTERED,
  },
  {
    means: 'node local, zonal, regional, else any',
    annotations: keyed(`["${HOST}","${ZONE}","${REGION}","*"]`),
    here: [['here'], ['near'], ['mid'], ['far']],
    // Fewer than three ready endpoints in the region are too few.
    strict: IN_ZONE_ELSE_ANY,
  },
  {
    means: 'prefer-same-node',
    annotations: keyed('prefer-same-node'),
    here: [['here'], ['near'], ['mid', 'far'], ['far']],
    strict: IN_ZONE_ELSE_ANY,
  },
  {
    means: 'prefer-same-zone',
    annotations: keyed('prefer-same-zone'),
    here: IN_ZONE_ELSE_ANY,
  },
  { means: 'same-zone-only', annotations: keyed('same-zone-only'), here: IN_ZONE },
  // near and mid are edge nodes, too.
  {
    means: 'fab-proxy',
    annotations: keyed('fab-proxy'),
    here: [['here'], ['far'], ['far'], ['far']],
    strict: [['far'], ['far'], ['far'], ['far']],
  },
  { means: 'the unit of SuperEdge', annotations: keyed('["nodeunit1"]'), here: IN_ZONE },
  {
    means: 'the node pool of OpenYurt',
    annotations: { 'openyurt.io/topologyKeys': 'openyurt.io/nodepool' },
    here: IN_ZONE,
    strict: IN_ZONE_ELSE_ANY,
  },
  {
    means: 'the node group of KubeEdge',
    annotations: { 'apps.kubeedge.io/service-topology': 'range-nodegroup' },
    here: IN_ZONE,
    strict: IN_ZONE_ELSE_ANY,
  },
  {
    means: 'the Namespace',
    namespace: 'regional',
    here: [['here', 'near', 'mid'], ['near', 'mid'], ['mid'], []],
  },
  {
    means: 'itself, before its Namespace',
    namespace: 'regional',
    annotations: keyed('same-zone-only'),
    here: IN_ZONE,
  },
  { means: 'the default, else nothing', here: UNFILTERED, strict: IN_ZONE_ELSE_ANY },
  { means: 'no keys, before the default', annotations: keyed('[]'), here: UNFILTERED },
  { means: 'what cannot be read', annotations: keyed(`["*","${HOST}"]`), here: UNFILTERED },
  { means: 'off', annotations: { ...keyed('same-zone-only'), ...OFF }, here: UNFILTERED },
  {
    means: 'two ready in the zone, else any',
    annotations: {
      topologyKeys: 'prefer-same-zone',
      'kube-proxy-wrapper.io/min-ready': `{"${ZONE}":2}`,
    },
    here: [NEAR, ['near', 'mid', 'far'], ['mid', 'far'], ['far']],
  },
];

test.each(ROWS)('a Service follows: $means', async (row) => {
  const { means, here, namespace, annotations } = row;
  const name = means.replaceAll(/[^a-z]+/gi, '-').toLowerCase();
  const service = await scene.serve({
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(annotations === undefined ? {} : { annotations }),
  });
  const onStrict = row.strict ?? here;
  for (const [failed, places] of here.entries()) {
    for (const place of PLACES.slice(0, failed)) await service.setReady(place, false);
    await follow(scene.here, [[service, places]]);
    await follow(strict, [[service, onStrict[failed] ?? []]]);
    await keep(scene.here, [[service, places]], 100);
  }
  for (const place of PLACES) await service.setReady(place, true);
  await follow(scene.here, [[service, here[0]]]);
  await follow(strict, [[service, onStrict[0]]]);
});

/** Expects what both nodes see of a Service. */
async function both(
  service: SceneService,
  onHere: readonly Place[],
  onStrict: readonly Place[] = onHere,
): Promise<void> {
  await follow(scene.here, [[service, onHere]]);
  await follow(strict, [[service, onStrict]]);
}

describe('what is changed applies to what is there', () => {
  const annotations = keyed('same-zone-only');

  test('the annotation of a Namespace, and of a Service in it', async () => {
    const { plane } = scene;
    const namespace = 'changing';
    await createPolicyNamespace(plane, namespace, 'same-zone-only');
    const plain = await scene.serve({ name: 'plain', namespace });
    const own = await scene.serve({ name: 'own', namespace, annotations: keyed(`["${HOST}"]`) });
    await both(plain, NEAR);
    await both(own, ['here'], []);
    await annotateNamespace(plane, namespace, '[]');
    await both(plain, ALL);
    await annotateNamespace(plane, namespace, null);
    await both(plain, ALL, NEAR);
    await annotateService(plane.admin, 'own', { topologyKeys: null }, namespace);
    await both(own, ALL, NEAR);
  });

  test('the switch of a node: it sees all of everything, and the others what they saw', async () => {
    const service = await scene.serve({ name: 'switched', annotations });
    await both(service, NEAR);
    const path = '/api/v1/nodes/here';
    await scene.plane.admin.patch(path, { metadata: { annotations: OFF } });
    await follow(scene.here, [[service, ALL]]);
    const created = await scene.serve({ name: 'created', annotations });
    await both(created, ALL, NEAR);
    await keep(strict, [[service, NEAR]]);
    await scene.plane.admin.patch(path, { metadata: { annotations: ON } });
    await both(service, NEAR);
    await both(created, NEAR);
  });
});

test('with a return delay traffic leaves immediately and returns when the nearer key has been ready for so long', async () => {
  const service = await scene.serve({
    name: 'delayed',
    annotations: {
      topologyKeys: `["${HOST}","${CLOUD}"]`,
      'kube-proxy-wrapper.io/return-delay': '3s',
    },
  });
  await follow(scene.here, [[service, ['here']]]);
  await service.setReady('here', false);
  expect(await follow(scene.here, [[service, ['far']]], 2_000)).toBeLessThan(2_000);
  await service.setReady('here', true);
  await keep(scene.here, [[service, ['far']]], 1_500);
  // An interruption starts the delay again.
  await service.setReady('here', false);
  await sleep(300);
  const start = performance.now();
  await service.setReady('here', true);
  await keep(scene.here, [[service, ['far']]], 2_500);
  await follow(scene.here, [[service, ['here']]]);
  expect(performance.now() - start).toBeGreaterThan(2_900);
});
