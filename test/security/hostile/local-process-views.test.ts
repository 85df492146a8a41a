import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { createNamespace } from '../../e2e/support/cluster-objects.ts';
import { testUsers } from '../../e2e/support/control-plane.ts';
import { sumOfMetrics } from './support/host-wrapper.ts';
import { startLikeKubeProxy } from './support/kube-proxy-queries.ts';
import { HERE, type RealScene, startRealScene } from './support/real-scene.ts';
import { report } from './support/report.ts';
import { Crowd, watchRequest } from './support/sockets.ts';

jest.setTimeout(180_000);

const NAMESPACE = 'tenant';
const RBAC = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}`;
/** Counts views that were refused. */
const BUDGET_METRIC = /^kube_proxy_wrapper_views?_\w*(refus|reject)/;

let scene: RealScene;

beforeAll(async () => {
  scene = await startRealScene();
  await createNamespace(scene.plane.admin, NAMESPACE);
  await grantSlices();
});

afterAll(async () => {
  await scene?.stop();
});

/** A token that may do nothing may read the slices of one namespace. */
async function grantSlices(): Promise<void> {
  const { admin } = scene.plane;
  const metadata = { name: 'slices' };
  const verbs = ['list', 'watch'];
  const rules = [{ apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs }];
  await admin.create(`${RBAC}/roles`, { metadata, rules });
  const apiGroup = 'rbac.authorization.k8s.io';
  await admin.create(`${RBAC}/rolebindings`, {
    metadata,
    roleRef: { apiGroup, kind: 'Role', name: metadata.name },
    subjects: [{ apiGroup, kind: 'User', name: testUsers.nobody }],
  });
}

interface Credential {
  readonly ca?: string;
  readonly token?: string;
}

test.each(['http', 'https'] as const)(
  'F3: over %s a kube-proxy starts within 2 s beside 100 watches with selectors of their own',
  async (name) => {
    const wrapper = await scene.start({ https: true });
    const isTls = name === 'https';
    const { nobody, kubeProxy } = scene.plane.tokens;
    const as = (token: string): Credential => (isTls ? { ca: wrapper.ca(), token } : {});
    const within = isTls ? `/namespaces/${NAMESPACE}` : '';
    const path = `/apis/discovery.k8s.io/v1${within}/endpointslices?watch=true`;
    const port = isTls ? wrapper.httpsPort : wrapper.port;
    const url = isTls ? wrapper.httpsUrl : wrapper.url;
    const crowd = new Crowd();
    try {
      // Over https only a few access reviews run at once, and one more would get 503.
      await crowd.openInTurn(100, 10, port, (index) => ({
        ...(isTls ? { ca: wrapper.ca() } : {}),
        bytes: watchRequest(`${path}&labelSelector=attack%21%3D${index}`, as(nobody).token),
      }));
      const [held, refused] = [crowd.count('HTTP/1.1 200'), crowd.count('HTTP/1.1 503')];
      report('F3', `over ${name}, of 100 watches ${held} are held and ${refused} refused with 503`);
      for (const version of ['1.36', '1.33'] as const) {
        const { statuses, ms } = await startLikeKubeProxy(url, HERE, version, as(kubeProxy));
        report('F3', `over ${name}, a kube-proxy starts: ${version} ${statuses} in ${ms} ms`);
        expect(statuses).toEqual([200, 200, 200, 200]);
        expect(ms).toBeLessThan(2_000);
      }
      expect(held).toBeGreaterThan(0);
      expect(await wrapper.admin('/readyz')).toMatchObject({
        status: 200,
        body: expect.stringMatching(/view.*(budget|refus)/i),
      });
      expect(await sumOfMetrics(wrapper, BUDGET_METRIC)).toBeGreaterThan(0);
    } finally {
      await crowd.close();
      await wrapper.stop();
    }
  },
);
