import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { createNamespace } from '../../e2e/support/cluster-objects.ts';
import type { HostWrapper } from './support/host-wrapper.ts';
import { inLanes, send } from './support/http.ts';
import { type RealScene, startRealScene } from './support/real-scene.ts';
import { report } from './support/report.ts';
import { Crowd, watchRequest } from './support/sockets.ts';

jest.setTimeout(180_000);

const NAMESPACE = 'tenant';
const RBAC = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}`;
const ACCOUNTS = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`;
const SLICES = `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`;
const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
const TOKENS = 64;

let scene: RealScene;
let wrapper: HostWrapper;
let tokens: string[];
let crowd: Crowd;

beforeAll(async () => {
  scene = await startRealScene();
  wrapper = await scene.start({ https: true });
  await createNamespace(scene.plane.admin, NAMESPACE);
  await createAccount('weak');
  tokens = await requestTokens('weak');
});

afterAll(async () => {
  await scene?.stop();
});

/** A ServiceAccount that may read slices and ConfigMaps of its namespace. */
async function createAccount(name: string): Promise<void> {
  const { admin } = scene.plane;
  const verbs = ['list', 'watch'];
  await admin.create(ACCOUNTS, { metadata: { name } });
  await admin.create(`${RBAC}/roles`, {
    metadata: { name },
    rules: [
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs },
      { apiGroups: [''], resources: ['configmaps'], verbs },
    ],
  });
  await admin.create(`${RBAC}/rolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace: NAMESPACE }],
  });
}

/** Different tokens of one ServiceAccount. */
async function requestTokens(account: string): Promise<string[]> {
  const { admin } = scene.plane;
  const granted = new Set<string>();
  await inLanes([...Array(TOKENS).keys()], 4, async (index) => {
    const request = { metadata: { name: account }, spec: { expirationSeconds: 3_600 + index } };
    const { status } = await admin.create(`${ACCOUNTS}/${account}/token`, request);
    granted.add((status as { token: string }).token);
  });
  return [...granted];
}

/** Opens a watch with each token. Returns how many are open, and how many were refused. */
async function watchWithEach(pathOf: (index: number) => string) {
  crowd = new Crowd();
  await crowd.openInTurn(TOKENS, 8, wrapper.httpsPort, (index) => ({
    ca: wrapper.ca(),
    bytes: watchRequest(pathOf(index), tokens[index]),
  }));
  const count = (code: number) => crowd.count(`HTTP/1.1 ${code}`);
  return { open: count(200), refused: count(429) + count(503) };
}

async function statusOf(path: string, token: string): Promise<number> {
  const { status } = await send(wrapper.httpsUrl + path, { token, ca: wrapper.ca() });
  return status;
}

const view = (index: number) => `${SLICES}?watch=true&labelSelector=attack%21%3D${index}`;

test.each([
  ['forwarded watches', 32, () => `${CONFIG_MAPS}?watch=true`],
  ['watches of one view', 64, () => view(0)],
  ['views', 16, view],
] as const)(
  'F16: 64 tokens of one ServiceAccount take no more %s than %d',
  async (what, most, pathOf) => {
    expect(tokens).toHaveLength(TOKENS);
    try {
      const { open, refused } = await watchWithEach(pathOf);
      report(
        'F16',
        `64 tokens of one ServiceAccount: ${open} ${what} are open, ${refused} refused`,
      );
      expect([open, refused]).toEqual([most, TOKENS - most]);
      const { admin } = scene.plane.tokens;
      expect(await statusOf(`${SLICES}?labelSelector=other`, admin)).toBe(200);
      expect(await statusOf(CONFIG_MAPS, admin)).toBe(200);
      expect([429, 503]).toContain(await statusOf(pathOf(TOKENS), tokens[0] ?? ''));
    } finally {
      await crowd.close();
    }
  },
);

test('F16: the API server is asked once for each token whose it is', () => {
  const user = `system:serviceaccount:${NAMESPACE}:weak`;
  const identities = scene.plane.requests({ user, resource: 'selfsubjectreviews' }).length;
  const accesses = scene.plane.requests({ user, resource: 'selfsubjectaccessreviews' }).length;
  report('F16', `${TOKENS} tokens: ${identities} SelfSubjectReviews, ${accesses} access reviews`);
  expect(identities).toBe(TOKENS);
});
