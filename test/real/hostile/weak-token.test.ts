import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { testUsers } from '../../../harness/api-server/control-plane.ts';
import { eventually } from '../../../harness/eventually.ts';
import { ACCEPT_VARIANTS } from '../../../harness/hostile/accept-variants.ts';
import type { HostWrapper } from '../../../harness/hostile/host-wrapper.ts';
import { inLanes, type SendOptions, send } from '../../../harness/hostile/http.ts';
import { FAR, NEAR, type RealScene, startRealScene } from '../../../harness/hostile/real-scene.ts';

jest.setTimeout(120_000);

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const SLICE = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const API_GROUP = 'rbac.authorization.k8s.io';

let scene: RealScene;
let wrapper: HostWrapper;

beforeAll(async () => {
  scene = await startRealScene();
  wrapper = await scene.start({ https: true });
  const { admin } = scene.plane;
  const metadata = { name: 'all-slices' };
  const verbs = ['get', 'list', 'watch'];
  const rules = [{ apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs }];
  await admin.create(`${RBAC}/clusterroles`, { metadata, rules });
  await admin.create(`${RBAC}/clusterrolebindings`, {
    metadata,
    roleRef: { apiGroup: API_GROUP, kind: 'ClusterRole', name: metadata.name },
    subjects: [{ apiGroup: API_GROUP, kind: 'User', name: testUsers.nobody }],
  });
  const { value } = await eventually(
    async () => await ask(SLICES),
    ({ status }) => status === 200,
    { what: 'the new right of the token', timeoutMs: 15_000 },
  );
  const { body } = value;
  if (!body.includes(NEAR) || body.includes(FAR)) throw new Error(`not filtered: ${body}`);
});

afterAll(async () => {
  await scene?.stop();
});

async function ask(path: string, headers: SendOptions['headers'] = {}) {
  return await send(wrapper.httpsUrl, {
    path,
    token: scene.plane.tokens.nobody,
    ca: wrapper.ca(),
    headers,
    timeoutMs: 5_000,
  });
}

/** Other ways to write the path of the slices, which a lenient server may accept. */
const ROUND_ABOUT = [
  `${SLICES}#x`,
  `${SLICES}/`,
  `${SLICES}/?watch=1`,
  `${SLICES};a=b`,
  `${SLICES}\\`,
  `/${SLICES}`,
  '/apis/discovery.k8s.io/v1/watch/endpointslices',
  '/apis/discovery.k8s.io/v1beta1/endpointslices',
  '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/',
  `${SLICES}%20`,
  `${SLICES}%00`,
  '/apis/discovery.k8s.io/v1/watch/namespaces/default/endpointslices/web-1',
  `${SLICES}%3Fwatch=1`,
  `${SLICE}/`,
  `${SLICES}%23`,
  `${SLICE}#x`,
  `${SLICES}?#x`,
  `${SLICE}/status`,
];

describe('F9: a token that may list slices cannot bypass the filter', () => {
  test('by an Accept header', async () => {
    const paths = [
      SLICES,
      `${SLICES}?includeObject=Object`,
      SLICE,
      `${SLICES}?watch=true&timeoutSeconds=1`,
    ];
    // A watch lasts a second, so it is tried with every third header only.
    const probes = ACCEPT_VARIANTS.flatMap((lines, index) =>
      paths
        .filter((path) => index < 6 || index % 3 === 0 || !path.includes('watch'))
        .map((path) => ({ lines, path })),
    );
    const leaks: string[] = [];
    const statuses = new Set<number>();
    await inLanes(probes, 8, async ({ lines, path }) => {
      const { status, body } = await ask(path, { accept: [...lines] });
      statuses.add(status);
      if (body.includes(FAR)) leaks.push(`${path} Accept: ${lines.join(' | ')}`);
    });
    expect(statuses).toContain(200);
    expect(leaks).toEqual([]);
  });

  test.each(ROUND_ABOUT)('by the path %s', async (path) => {
    const { status, body } = await ask(path);
    expect(status).toBeGreaterThanOrEqual(200);
    expect(body).not.toContain(FAR);
  });
});
