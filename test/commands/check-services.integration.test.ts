import { createServer, type Server } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { type AdminClient, createAdminClient } from '../../src/commands/admin-client.ts';
import { checkServices } from '../../src/commands/check/check-services.ts';

const NONE = { count: 0, services: [] };
let server: Server;

afterEach(() => {
  server.close();
});

/** Starts an admin port that answers /summary; returns its client. */
async function startAdmin(code: number, body: object): Promise<AdminClient> {
  server = createServer((_, response) => {
    response.writeHead(code).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return createAdminClient(`http://127.0.0.1:${port}`);
}

/* check once said "no problem found" on a node on which a policy left a Service without endpoints. */
test.each([
  [
    'without endpoints',
    { withoutEndpoints: { count: 1, services: ['default/web'] }, withoutReady: NONE },
    'traffic fails on this node: no endpoint is left by the policy of 1 Service (default/web)',
  ],
  [
    'without ready endpoints',
    {
      withoutEndpoints: NONE,
      withoutReady: { count: 7, services: ['a/1', 'a/2', 'a/3', 'a/4', 'a/5', 'a/6', 'a/7'] },
    },
    'traffic fails on this node: only endpoints that are not ready are left by the policy of 7 Services (a/1, a/2, a/3, a/4, a/5 and 2 more)',
  ],
])('a policy that leaves a Service %s is a problem', async (_, summary, text) => {
  const admin = await startAdmin(200, { ...summary, noneReady: NONE });
  expect(await checkServices(admin)).toMatchObject({ outcome: 'fail', text });
});

test('a Service without a ready endpoint anywhere is mentioned, but it is not the fault of a policy', async () => {
  const noneReady = { count: 1, services: ['default/sick'] };
  const admin = await startAdmin(200, { withoutEndpoints: NONE, withoutReady: NONE, noneReady });
  expect(await checkServices(admin)).toMatchObject({
    outcome: 'ok',
    text: expect.stringContaining('default/sick'),
  });
});

test('an older wrapper without /summary is no problem', async () => {
  const admin = await startAdmin(404, { error: 'unknown path' });
  expect(await checkServices(admin)).toMatchObject({
    outcome: 'skip',
    text: expect.stringContaining('unknown path'),
  });
});
