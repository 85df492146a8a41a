import { afterAll, beforeAll, describe, jest, test } from '@jest/globals';
import { annotateService, labelNode } from './support/cluster-objects.ts';
import {
  follow,
  keep,
  PLACE_LABELS,
  PLACES,
  type Place,
  type PolicyScene,
  type SceneService,
  startPolicyScene,
} from './support/policy-scene.ts';

jest.setTimeout(180_000);

let scene: PolicyScene;

beforeAll(async () => {
  scene = await startPolicyScene([
    {
      nodeName: 'here',
      mode: 'nftables',
      settings: { compatibility: ['openyurt', 'kubeedge'] },
    },
    // Reads nobody's annotations but ours.
    { nodeName: 'strict', mode: 'iptables', settings: {} },
  ]);
});

afterAll(async () => {
  await scene?.stop();
});

const ALL: readonly Place[] = PLACES;
const OPENYURT = 'openyurt.io/topologyKeys';
const KUBEEDGE = 'apps.kubeedge.io/service-topology';

/** Labels of `here` for a while, then as they were; null removes one. */
async function whileLabelled(
  labels: Readonly<Record<string, string | null>>,
  run: () => Promise<void>,
): Promise<void> {
  await labelNode(scene.plane.admin, 'here', labels);
  try {
    await run();
  } finally {
    const removed = Object.fromEntries(Object.keys(labels).map((key) => [key, null]));
    await labelNode(scene.plane.admin, 'here', { ...removed, ...PLACE_LABELS.here });
  }
}

/** One Service of each row, and what `here` sees according to the row in some state of its labels. */
interface Row {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
}

async function serveRows<R extends Row>(rows: readonly R[]): Promise<(R & SceneService)[]> {
  return await Promise.all(rows.map(async (row) => ({ ...row, ...(await scene.serve(row)) })));
}

describe('OpenYurt: openyurt.io/topologyKeys', () => {
  const rows = [
    { name: 'yurt-host', annotations: { [OPENYURT]: 'kubernetes.io/hostname' }, pool: false },
    { name: 'yurt-pool', annotations: { [OPENYURT]: 'openyurt.io/nodepool' }, pool: true },
    { name: 'yurt-zone', annotations: { [OPENYURT]: 'kubernetes.io/zone' }, pool: true },
  ];
  let services: ((typeof rows)[number] & SceneService)[];

  beforeAll(async () => {
    services = await serveRows(rows);
  });

  /** Pooled Services are seen on these places, the other on `here` only. */
  async function expectPool(places: readonly Place[]): Promise<void> {
    const expected = services.map((service): [SceneService, readonly Place[]] => [
      service,
      service.pool ? places : ['here'],
    ]);
    await follow(scene.here, expected);
    await keep(scene.here, expected, 100);
  }

  test('hostname keeps to the node, the other two values to its pool', async () => {
    await expectPool(['here', 'near']);
  });

  test('a node that changes its pool sees the endpoints of the new one', async () => {
    await whileLabelled({ 'apps.openyurt.io/nodepool': 'beijing' }, async () => {
      await expectPool(['here', 'mid']);
    });
    await expectPool(['here', 'near']);
  });

  test('a node in no pool sees its own endpoints only', async () => {
    await whileLabelled({ 'apps.openyurt.io/nodepool': null }, async () => {
      await expectPool(['here']);
    });
  });

  test('a node that joins the pool is seen', async () => {
    await labelNode(scene.plane.admin, 'mid', { 'apps.openyurt.io/nodepool': 'hangzhou' });
    await expectPool(['here', 'near', 'mid']);
    await labelNode(scene.plane.admin, 'mid', PLACE_LABELS.mid);
    await expectPool(['here', 'near']);
  });

  test('nothing of the pool being ready, no endpoint is left: its keys have no fallback', async () => {
    const [, pooled] = services;
    if (pooled === undefined) throw new Error('no Service');
    for (const place of ['here', 'near'] as const) await pooled.setReady(place, false);
    await follow(scene.here, [[pooled, []]]);
    for (const place of ['here', 'near'] as const) await pooled.setReady(place, true);
    await follow(scene.here, [[pooled, ['here', 'near']]]);
  });

  test('a value that OpenYurt does not know leaves the Service unfiltered, and so does a wrapper without the preset', async () => {
    const odd = await scene.serve({ name: 'yurt-odd', annotations: { [OPENYURT]: 'region' } });
    await follow(scene.here, [[odd, ALL]]);
    const strict = scene.fleet.of('strict');
    await follow(
      strict,
      [odd, ...services].map((service) => [service, ALL]),
    );
  });

  test('topologyKeys of the Service come before its', async () => {
    const annotations = { [OPENYURT]: 'openyurt.io/nodepool', topologyKeys: '["*"]' };
    const both = await scene.serve({ name: 'yurt-both', annotations });
    await follow(scene.here, [[both, ALL]]);
    await annotateService(scene.plane.admin, 'yurt-both', { topologyKeys: null });
    await follow(scene.here, [[both, ['here', 'near']]]);
    await annotateService(scene.plane.admin, 'yurt-both', { [OPENYURT]: null });
    await follow(scene.here, [[both, ALL]]);
  });
});

describe('SuperEdge: topologyKeys of a NodeUnit or grid', () => {
  const MEMBER = 'nodeunits.superedge.io';
  const NEAR: readonly Place[] = ['here', 'near'];
  const MID: readonly Place[] = ['here', 'mid'];

  test.each([
    { rule: 'a node that leaves its unit', key: 'nodeunit1', moved: null, from: NEAR, to: [] },
    { rule: 'a node that enters a unit', key: 'nodeunit2', moved: MEMBER, from: [], to: MID },
    { rule: 'a node moved to another grid', key: 'zone1', moved: 'nodeunit2', from: NEAR, to: MID },
    { rule: 'a node taken out of its grid', key: 'zone1', moved: null, from: NEAR, to: [] },
  ])('$rule sees of $key what is there', async ({ rule, key, moved, from, to }) => {
    const name = rule.replaceAll(' ', '-');
    const service = await scene.serve({ name, annotations: { topologyKeys: `["${key}"]` } });
    await follow(scene.here, [[service, from]]);
    await whileLabelled(
      { [key]: moved },
      async () => void (await follow(scene.here, [[service, to]])),
    );
    await follow(scene.here, [[service, from]]);
  });
});

describe('KubeEdge: apps.kubeedge.io/service-topology', () => {
  test('range-nodegroup keeps to the group; a node in no group sees its own endpoints only', async () => {
    const annotations = { [KUBEEDGE]: 'range-nodegroup' };
    const service = await scene.serve({ name: 'kubeedge', annotations });
    await follow(scene.here, [[service, ['here', 'near']]]);
    await follow(scene.fleet.of('strict'), [[service, ALL]]);
    const label = 'apps.kubeedge.io/belonging-to';
    await whileLabelled({ [label]: 'group2' }, async () => {
      await follow(scene.here, [[service, ['here', 'mid']]]);
    });
    await whileLabelled({ [label]: null }, async () => {
      await follow(scene.here, [[service, ['here']]]);
    });
    await follow(scene.here, [[service, ['here', 'near']]]);
  });
});

const [HOST, ZONE, REGION] = [
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
];

/** What is seen with all ready, then without here, then without near, then without mid. */
const AS_THEY_FAIL: readonly {
  readonly means: string;
  readonly keys: string;
  readonly sees: readonly (readonly Place[])[];
}[] = [
  { means: 'only node local', keys: `["${HOST}"]`, sees: [['here'], [], [], []] },
  {
    means: 'node local, else any',
    keys: `["${HOST}","*"]`,
    sees: [['here'], ['near', 'mid', 'far'], ['mid', 'far'], ['far']],
  },
  {
    means: 'only zonal or regional',
    keys: `["${ZONE}","${REGION}"]`,
    sees: [['here', 'near'], ['near'], ['mid'], []],
  },
  {
    means: 'node local, zonal, regional, else any',
    keys: `["${HOST}","${ZONE}","${REGION}","*"]`,
    sees: [['here'], ['near'], ['mid'], ['far']],
  },
  {
    means: 'prefer-same-node',
    keys: 'prefer-same-node',
    sees: [['here'], ['near'], ['mid', 'far'], ['far']],
  },
  {
    means: 'prefer-same-zone',
    keys: 'prefer-same-zone',
    sees: [['here', 'near'], ['near'], ['mid', 'far'], ['far']],
  },
  {
    means: 'same-zone-only',
    keys: 'same-zone-only',
    sees: [['here', 'near'], ['near'], [], []],
  },
  // near and mid are edge nodes, too.
  { means: 'fab-proxy', keys: 'fab-proxy', sees: [['here'], ['far'], ['far'], ['far']] },
];

describe("Kubernetes' removed topologyKeys, as its documentation had them, and presets", () => {
  test.each(AS_THEY_FAIL)('$means', async ({ means, keys, sees }) => {
    const name = `as-${means.replaceAll(/[^a-z]+/g, '-')}`;
    const service = await scene.serve({ name, annotations: { topologyKeys: keys } });
    for (const [failed, places] of sees.entries()) {
      for (const place of PLACES.slice(0, failed)) await service.setReady(place, false);
      await follow(scene.here, [[service, places]]);
      await keep(scene.here, [[service, places]], 100);
    }
    for (const place of PLACES) await service.setReady(place, true);
    await follow(scene.here, [[service, sees[0] ?? []]]);
  });

  test('fab-proxy applies on edge nodes only', async () => {
    const service = await scene.serve({ name: 'fab', annotations: { topologyKeys: 'fab-proxy' } });
    await follow(scene.here, [[service, ['here']]]);
    await whileLabelled({ 'node-role.kubernetes.io/edge': null }, async () => {
      await follow(scene.here, [[service, ALL]]);
    });
    await follow(scene.here, [[service, ['here']]]);
  });
});
