import { readdir } from 'node:fs/promises';
import { connect, Server } from 'node:net';
import { beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import { buildPage } from '../../scripts/build-page.ts';
import type { Admin } from '../../src/admin/admin.ts';
import { DEFAULT_LISTENER_LIMITS } from '../../src/server/http/listener-limits.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { PATHS, useState } from '../support/wrapper/state-fixture.ts';
import { useAdmin, useCluster, useWrapper } from '../support/wrapper/use.ts';

let server: ApiServer;
let url: string;
let proxy: NodeProxy;
let admin: Admin;

beforeAll(() => buildPage());

beforeEach(async () => {
  server = useCluster();
  url = await server.listen();
  proxy = await useWrapper(url);
  admin = await useAdmin(proxy);
});

async function ask(method: string, path: string) {
  const response = await fetch(`${admin.url}${path}`, { method });
  await response.text();
  return response;
}

// The next process requests it before it reads the snapshots.
test('POST /flush writes what is not on disk, ahead of its time', async () => {
  await Promise.all([admin.close(), proxy.close()]);
  const state = useState();
  const never = { quietMs: 1e8, unrestMs: 1e8 };
  proxy = await useWrapper(url, { state: { ...state, ...never } });
  admin = await useAdmin(proxy);
  await eventually(() => proxy.views.ownNodeExists, true);
  const written = async () =>
    (await readdir(state.folder)).filter((name) => name.endsWith('.snapshot'));
  // The own Node is written before it is shown.
  expect(await written()).toEqual([expect.stringMatching(/^nodes-/)]);
  expect((await fetch(`${proxy.url}${PATHS.services}`)).status).toBe(200);
  expect(await ask('POST', '/flush')).toMatchObject({ status: 200 });
  expect((await written()).length).toBeGreaterThan(1);
});

test('requests that take long leave connections for the probes', async () => {
  await admin.close();
  const disk = Promise.withResolvers<void>();
  admin = await useAdmin(proxy, { ...DEFAULT_LISTENER_LIMITS, maxConnections: 5 });
  // A disk that hangs; nothing else takes long enough.
  Object.defineProperty(proxy, 'snapshots', { value: { flush: () => disk.promise } });
  const statuses: number[] = [];
  const requests = Array.from({ length: 5 }, async () => {
    statuses.push((await ask('POST', '/flush')).status);
  });
  await eventually(() => statuses, [503, 503]);
  const answers = await Promise.all([ask('GET', '/healthz'), ask('GET', '/healthz')]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  disk.resolve();
  await Promise.all(requests);
  expect(statuses.sort()).toEqual([200, 200, 200, 503, 503]);
  await eventually(async () => (await ask('GET', '/views')).status, 200);
});

// Node reads the end of a connection after the request on it. 4,000 such requests once delayed /healthz by 40 s.
test.each(['/explain', '/status', '/metrics', '/node', '/views', '/version', '/'])(
  'GET %s causes no work if the client has already closed the connection',
  async (path) => {
    let reads = 0;
    const counted = new Proxy(proxy, {
      get(target, key) {
        reads++;
        return Reflect.get(target, key, target);
      },
    });
    const { url } = await useAdmin(counted);
    reads = 0;
    const client = connect(Number(new URL(url).port), '127.0.0.1', () => {
      client.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      client.destroy();
    });
    const handled = () => [...proxy.listeners.requests.counts].map(([, , word]) => word);
    await eventually(handled, ['aborted']);
    // Another request takes as many turns of the event loop.
    await fetch(`${url}/healthz`);
    expect(reads).toBe(0);
  },
);

test('few connections wait to be accepted: a probe waits for all that came before it', async () => {
  const listen = jest.spyOn(Server.prototype, 'listen');
  await useAdmin(proxy);
  expect(listen.mock.lastCall?.[0]).toMatchObject({ backlog: 256 });
  listen.mockRestore();
});
