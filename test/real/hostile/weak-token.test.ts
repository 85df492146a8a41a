import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { testUsers } from '../../../harness/api-server/control-plane.ts';
import type { HostWrapper } from '../../../harness/hostile/host-wrapper.ts';
import { inLanes } from '../../../harness/hostile/http.ts';
import { FAR, NEAR, type RealScene, startRealScene } from '../../../harness/hostile/real-scene.ts';
import { poll } from '../../../harness/poll.ts';
import { request, SLICES } from '../../support/attacks/attack.ts';
import { ACCEPT_ATTACKS, HEADER_ATTACKS } from '../../support/attacks/attack-headers.ts';
import { PATH_ATTACKS } from '../../support/attacks/attack-paths.ts';
import { raw } from '../../support/http/http-client.ts';

jest.setTimeout(600_000);

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
  const { value } = await poll(
    async () => await ask(request({ path: SLICES })),
    (answer) => answer.startsWith('HTTP/1.1 200 '),
    { what: 'the new right of the token', timeoutMs: 60_000 },
  );
  if (!value.includes(NEAR) || value.includes(FAR)) throw new Error(`not filtered: ${value}`);
});

afterAll(async () => {
  await scene?.stop();
});

/** The answer to a request with the token. */
function ask(bytes: (lines: string) => string): Promise<string> {
  const lines = `Authorization: Bearer ${scene.plane.tokens.nobody}\r\n`;
  return raw(wrapper.httpsUrl, bytes(lines), { ca: wrapper.ca(), servername: 'localhost' }).closed;
}

// The rows of test/security/attacks.integration.test.ts, which has an API server in memory.
test.each([
  ['a path or a query', PATH_ATTACKS],
  ['a header', HEADER_ATTACKS],
  ['an Accept header', ACCEPT_ATTACKS],
])('F9: a token that may list slices cannot bypass the filter by %s', async (_, attacks) => {
  const leaks: string[] = [];
  const statuses = new Set<string | undefined>();
  await inLanes(attacks, 8, async ({ name, bytes }) => {
    if (!bytes('').includes('endpointslices')) return;
    const answer = await ask((lines) => bytes(lines).replace('/web-a', '/web-1'));
    statuses.add(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
    if (answer.includes(FAR)) leaks.push(name);
  });
  expect([...statuses]).toEqual(expect.arrayContaining(['200']));
  expect(statuses).not.toContain(undefined);
  expect(leaks).toEqual([]);
});
