import { beforeAll, expect, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { EVENTS, request } from '../support/attacks/attack.ts';
import { exchange } from '../support/http/http-client.ts';
import { useAdmin, useCluster, useWrapper } from '../support/wrapper/use.ts';

/* What attacks.integration.test.ts, the table of attacks, does not show of plain http. */

let server: ApiServer;
let proxy: NodeProxy;

beforeAll(async () => {
  server = useCluster();
  proxy = await useWrapper(await server.listen());
});

test('an Event is refused with a reason, and nothing is sent', async () => {
  const before = server.requests.length;
  const bytes = request({ method: 'POST', path: EVENTS, body: '{}' })('');
  expect(await exchange(proxy.url, bytes)).toMatch(
    /^HTTP\/1.1 403 .*"message":"[^"]*plain http is only for what kube-proxy reads/s,
  );
  expect(server.requests.slice(before).map(({ method }) => method)).not.toContain('POST');
});

test.each(['0.0.0.0', '::', '10.1.2.3', '192.168.0.1', '::ffff:127.0.0.1'])(
  'it does not listen on %s',
  async (host) => {
    const options = { http: { host, port: 0 } };
    await expect(useWrapper('http://127.0.0.1:1', options)).rejects.toMatchObject({
      code: 'InvalidSettings',
      message: expect.stringMatching(/loopback only/),
    });
  },
);

// Regression: `new URL` parses a host after two slashes, and threw. There was no response, but an error in the log.
test.each(['//', '//explain', '///', 'http://', '/%', '/\\', '//[', '*'])(
  'the admin listener answers 404 to the path %s',
  async (path) => {
    const { url } = await useAdmin(proxy);
    expect(await exchange(url, request({ path })(''))).toMatch(/^HTTP\/1.1 404 /);
  },
);
