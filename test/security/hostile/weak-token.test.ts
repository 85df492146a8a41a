import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createNamespace } from '../../e2e/support/cluster-objects.ts';
import { testUsers } from '../../e2e/support/control-plane.ts';
import { eventually } from '../../e2e/support/eventually.ts';
import { ACCEPT_VARIANTS } from './support/accept-variants.ts';
import type { HostWrapper } from './support/host-wrapper.ts';
import { inLanes, send, Tally } from './support/http.ts';
import { startLikeKubeProxy } from './support/kube-proxy-queries.ts';
import { FAR, HERE, NEAR, type RealScene, startRealScene } from './support/real-scene.ts';
import { report } from './support/report.ts';
import { Crowd } from './support/sockets.ts';

jest.setTimeout(120_000);

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const API_GROUP = 'rbac.authorization.k8s.io';

let scene: RealScene;
let wrapper: HostWrapper;

beforeAll(async () => {
  scene = await startRealScene();
  wrapper = await scene.start({ https: true });
});

afterAll(async () => {
  await scene?.stop();
});

const verbs = ['get', 'list', 'watch'];
const rules = [{ apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs }];

/** Grants the weak token reads of slices, everywhere or in one namespace. */
async function grant(name: string, namespace?: string): Promise<void> {
  const { admin } = scene.plane;
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
  const [role, bindings] =
    namespace === undefined ? ['ClusterRole', 'clusterrolebindings'] : ['Role', 'rolebindings'];
  await admin.create(`${RBAC}${scope}/${role.toLowerCase()}s`, { metadata: { name }, rules });
  await admin.create(`${RBAC}${scope}/${bindings}`, {
    metadata: { name },
    roleRef: { apiGroup: API_GROUP, kind: role, name },
    subjects: [{ apiGroup: API_GROUP, kind: 'User', name: testUsers.nobody }],
  });
}

const ask = async (
  path: string,
  headers: Record<string, string[] | string> = {},
  timeoutMs = 5_000,
) =>
  await send(wrapper.httpsUrl + path, {
    token: scene.plane.tokens.nobody,
    ca: wrapper.ca(),
    headers,
    timeoutMs,
  });

test('F3: over https, a token of one namespace does not keep a kube-proxy out', async () => {
  await createNamespace(scene.plane.admin, 'tenant');
  await grant('tenant-slices', 'tenant');
  const { nobody, kubeProxy } = scene.plane.tokens;
  const crowd = new Crowd();
  try {
    const path = '/apis/discovery.k8s.io/v1/namespaces/tenant/endpointslices?watch=true';
    const lines = `Host: 127.0.0.1\r\nAuthorization: Bearer ${nobody}\r\n`;
    // Ten at a time, because only a few reviews run at once and one more would get 503.
    for (let asked = 0; asked < 100; asked += 10) {
      crowd.open(10, wrapper.httpsPort, (index) => ({
        ca: wrapper.ca(),
        bytes: `GET ${path}&labelSelector=attack%21%3D${asked + index} HTTP/1.1\r\n${lines}\r\n`,
      }));
      await eventually(
        () => crowd.count('HTTP/1.1 '),
        (answered) => answered === asked + 10,
        { what: 'an answer to each watch', timeoutMs: 30_000 },
      );
    }
    const [held, refused] = [crowd.count('HTTP/1.1 200'), crowd.count('HTTP/1.1 503')];
    const how = { ca: wrapper.ca(), token: kubeProxy };
    const newer = await startLikeKubeProxy(wrapper.httpsUrl, HERE, '1.36', how);
    const older = await startLikeKubeProxy(wrapper.httpsUrl, HERE, '1.33', how);
    report('F3', `over https, of 100 watches ${held} are held and ${refused} refused with 503`);
    report('F3', `over https, a kube-proxy starts: 1.36 ${newer.statuses} in ${newer.ms} ms`);
    report('F3', `over https, a kube-proxy starts: 1.33 ${older.statuses} in ${older.ms} ms`);
    expect(held).toBeGreaterThan(0);
    expect(newer.statuses).toEqual([200, 200, 200, 200]);
    expect(older.statuses).toEqual([200, 200, 200, 200]);
    expect(Math.max(newer.ms, older.ms)).toBeLessThan(2_000);
  } finally {
    await crowd.close();
  }
});

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
  '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-1/',
  `${SLICES}%23`,
  '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-1#x',
  `${SLICES}?#x`,
  '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-1/status',
];

describe('F9: a token that may list slices cannot bypass the filter', () => {
  beforeAll(async () => {
    await grant('all-slices');
    const { value } = await eventually(
      async () => await ask(SLICES),
      ({ status }) => status === 200,
      { what: 'the new right of the token', timeoutMs: 15_000 },
    );
    const { body } = value;
    if (!body.includes(NEAR) || body.includes(FAR)) throw new Error(`not filtered: ${body}`);
  });

  test('by an Accept header', async () => {
    const leaks: string[] = [];
    const statuses = new Tally();
    const paths = [
      SLICES,
      `${SLICES}?includeObject=Object`,
      `${SLICES}?watch=true&timeoutSeconds=1`,
      '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-1',
    ];
    // A watch lasts a second, so it is tried with every third header only.
    const probes = ACCEPT_VARIANTS.flatMap((lines, index) =>
      paths
        .filter((path) => index < 6 || index % 3 === 0 || !path.includes('watch'))
        .map((path) => ({ lines, path })),
    );
    await inLanes(probes, 8, async ({ lines, path }) => {
      const { status, body } = await ask(path, { accept: [...lines] });
      statuses.add(status);
      if (body.includes(FAR)) leaks.push(`${path} Accept: ${lines.join(' | ')}`);
    });
    report(
      'F9',
      `${ACCEPT_VARIANTS.length} Accept headers, ${probes.length} reads: ${leaks.length} show an endpoint past the filter; answers: ${statuses}`,
    );
    expect(ACCEPT_VARIANTS.length).toBeGreaterThan(46);
    expect(statuses.of(200)).toBeGreaterThan(0);
    expect(leaks).toEqual([]);
  });

  test.each(ROUND_ABOUT)('by the path %s', async (path) => {
    const { status, body } = await send(wrapper.httpsUrl, {
      path,
      token: scene.plane.tokens.nobody,
      ca: wrapper.ca(),
    });
    expect(status).toBeGreaterThanOrEqual(200);
    expect(body).not.toContain(FAR);
  });
});
