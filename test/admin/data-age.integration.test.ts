import { beforeEach, expect, test } from '@jest/globals';
import { KUBE_PROXY_WRAPPER } from '../../cli/definitions/all.ts';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import type { UrlFront } from '../../harness/network/tcp-front.ts';
import type { Admin } from '../../src/admin/admin.ts';
import type { NodeDetails } from '../../src/admin/page/node-details.ts';
import type { NodeStatus } from '../../src/admin/status/status-line.ts';
import { CURRENT_SLICES } from '../../src/client/api/kube-proxy-queries.ts';
import { queryPath } from '../../src/client/api/query.ts';
import type { ResponseHead } from '../../src/diagnosis/reading/version-info.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { VERSION } from '../../src/version.ts';
import { advancingClock } from '../support/advancing-clock.ts';
import { runInProcess } from '../support/commands/run-in-process.ts';
import { eventually } from '../support/eventually.ts';
import { connected, connections, lose } from '../support/wrapper/outage.ts';
import { putService, putSlice } from '../support/wrapper/small-cluster.ts';
import { PATHS, useState } from '../support/wrapper/state-fixture.ts';
import { useAdmin, useCluster, useFront, useWrapper } from '../support/wrapper/use.ts';
import type { startWrapper } from '../support/wrapper/wrapper-fixture.ts';

/*
 * With the API server stopped for a minute, explain, decisions and check once looked healthy, and a new annotation was
 * ignored without a word.
 */
const RESPONSES = ['/explain', '/explain/default/web', '/decisions'];
const ISO = /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

let server: ApiServer;
let front: UrlFront;
let proxy: NodeProxy;
let admin: Admin;
const clock = advancingClock();

beforeEach(async () => {
  server = useCluster();
  putService(server, 'web', ['kubernetes.io/hostname']);
  putSlice(server, 'web-1', 'web', [{ ip: '10.0.0.1', node: 'edge-1' }]);
  front = await useFront(await server.listen());
});

async function start(options: Parameters<typeof startWrapper>[1] = {}): Promise<void> {
  proxy = await useWrapper(front.url, options);
  admin = await useAdmin(proxy);
  for (const path of [queryPath(CURRENT_SLICES), PATHS.services]) await fetch(proxy.url + path);
}

async function read<T>(path: string): Promise<T> {
  return (await fetch(`${admin.url}${path}`)).json() as Promise<T>;
}

async function readyzLines(): Promise<string[]> {
  return (await (await fetch(`${admin.url}/readyz`)).text()).split('\n');
}

test.each(RESPONSES)(
  '%s has the version, and says that the data is current, or since when the API server is unreachable',
  async (path) => {
    await start();
    await connected(proxy);
    expect(await read<ResponseHead>(path)).toMatchObject({
      version: VERSION,
      data: { state: 'connected', ageSeconds: 0 },
    });
    await lose(proxy, front);
    clock.advance(71_000);
    const { data } = await read<ResponseHead>(path);
    expect(data.unreachableSince).toMatch(ISO);
    expect(data.warning).toMatch(
      /^the data is 7\d s old, and later changes are not known: the API server has been unreachable since 2.*Z \(.+\)$/,
    );
    expect(data.ageSeconds).toBeGreaterThanOrEqual(71);
    const sinceMs = Date.now() - Date.parse(`${data.unreachableSince}`);
    expect(sinceMs).toBeGreaterThan(70_000);
    expect(sinceMs).toBeLessThan(90_000);
  },
);

// The first status after a start said "interrupted".
test('a first watch that is not open yet interrupts nothing, until it takes long', async () => {
  const release = server.hold(
    ({ path, query }) => path === PATHS.slices && query.get('watch') === 'true',
  );
  await start();
  const slices = () => server.requests.filter(({ path }) => path === PATHS.slices);
  await eventually(() => slices().length > 1, true);
  expect(connections(proxy)).toContain(false);
  expect((await read<ResponseHead>('/explain')).data).toEqual({
    state: 'connected',
    ageSeconds: 0,
  });
  clock.advance(12_000);
  expect((await read<ResponseHead>('/explain')).data.state).toBe('interrupted');
  release();
});

test('a short interruption gives no warning, but it is visible', async () => {
  await start();
  await connected(proxy);
  await lose(proxy, front);
  const { data } = await read<ResponseHead>('/explain');
  expect(data).toMatchObject({
    state: 'unreachable',
    unreachableSince: expect.stringMatching(ISO),
  });
  expect(data.warning).toBeUndefined();
});

// Packets were dropped for 12 s, and every screen said that the data was 0 s old.
test('open watches that bring nothing are as old as the last byte, and no problem yet', async () => {
  await start();
  await connected(proxy);
  clock.advance(12_000);
  const { data } = await read<ResponseHead>('/explain');
  expect(data).toEqual({ state: 'quiet', ageSeconds: expect.any(Number) });
  expect(data.ageSeconds).toBeGreaterThanOrEqual(12);
  expect(await readyzLines()).toContainEqual(expect.stringMatching(/^data: quiet, 1\d s old$/));
  expect((await fetch(`${admin.url}/readyz`)).status).toBe(200);
});

// On one screen: connected, 14 s old, and 104 s since the last contact.
test('all screens have one age', async () => {
  await start();
  await connected(proxy);
  clock.advance(60_000);
  await lose(proxy, front);
  clock.advance(33_000);
  const { data } = await read<ResponseHead>('/explain');
  const lines = await readyzLines();
  expect(lines).toContain(`version: ${VERSION} (Node.js ${process.version})`);
  const metrics = await (await fetch(`${admin.url}/metrics`)).text();
  const ages = [
    data.ageSeconds,
    ...lines.flatMap((line) => /nothing has arrived for (\d+) s/.exec(line)?.[1] ?? []),
    ...lines.flatMap((line) => /the data is (\d+) s old/.exec(line)?.[1] ?? []),
    /^kube_proxy_wrapper_data_age_seconds (\d+)/m.exec(metrics)?.[1],
  ].map(Number);
  expect(ages.length).toBeGreaterThan(5);
  expect(Math.max(...ages) - Math.min(...ages)).toBeLessThanOrEqual(20);
  expect(Math.min(...ages)).toBeGreaterThanOrEqual(33);
});

test('one collection without a watch makes the data old, and the warning names it', async () => {
  await start();
  await connected(proxy);
  server.refuse(({ path }) => path === PATHS.slices, 500);
  server.cutWatches();
  const slices = () =>
    proxy.views.sources.find(({ view }) => view.resource.plural === 'endpointslices');
  await eventually(() => slices()?.status.error?.status?.code, 500);
  const others = () => proxy.views.sources.filter((source) => source !== slices());
  await eventually(() => others().every(({ status }) => status.connected), true);
  clock.advance(30_000);
  const { data } = await read<ResponseHead>('/explain');
  expect(data.state).toBe('interrupted');
  expect(data.unreachableSince).toBeUndefined();
  expect(data.warning).toMatch(/^the data is 3\d s old.*: there is no watch of \/apis\/discovery/);
});

// Status once said that the API server is unreachable, and to look at the network.
test('an API server that takes the rights away is not unreachable', async () => {
  await start();
  await connected(proxy);
  server.refuse(() => true, 403);
  server.cutWatches();
  await eventually(
    () => proxy.views.sources.every(({ status }) => status.error?.status?.code === 403),
    true,
  );
  clock.advance(12_000);
  const { data } = await read<ResponseHead>('/explain');
  expect(data).toMatchObject({ state: 'interrupted', cause: expect.stringContaining('403') });
  expect(data.unreachableSince).toBeUndefined();
  const { lines } = await read<NodeStatus>('/status');
  expect(JSON.stringify(lines)).not.toContain('unreachable');
  const next = lines.flatMap((line) => line.next ?? []);
  expect(next).toContainEqual(expect.stringContaining('grant the missing rights'));
});

test('the API server is unreachable since the last watch has ended, not since the first', async () => {
  await start();
  await connected(proxy);
  server.refuse(({ path }) => path === PATHS.slices, 500);
  server.cutWatches();
  await eventually(() => connections(proxy).filter((isOpen) => !isOpen).length, 1);
  clock.advance(60_000);
  await lose(proxy, front);
  const { data } = await read<ResponseHead>('/explain');
  expect(data.ageSeconds).toBeGreaterThanOrEqual(60);
  expect(Date.now() - Date.parse(`${data.unreachableSince}`)).toBeLessThan(30_000);
});

test('data from disk is as old as its snapshot', async () => {
  const state = useState();
  await start({ state });
  await eventually(async () => (await read<ResponseHead>('/explain')).data.ageSeconds, 0);
  await admin.close();
  await proxy.close();
  await front.begin({ kind: 'refuse' });
  await start({ state });
  const { data } = await read<ResponseHead>('/explain');
  expect(data).toMatchObject({
    state: 'snapshot',
    snapshotFrom: expect.stringMatching(ISO),
    unreachableSince: expect.stringMatching(ISO),
  });
});

// status said "[ok] data unreachable (0 s old)" for ever.
test('a node that has never read anything has no data, and no age', async () => {
  await front.begin({ kind: 'refuse' });
  proxy = await useWrapper(front.url);
  admin = await useAdmin(proxy);
  await eventually(async () => (await read<NodeStatus>('/status')).data.state, 'unreachable');
  const { data, lines } = await read<NodeStatus>('/status');
  expect(data).toMatchObject({ ageSeconds: 0, missing: true });
  expect(lines.filter(({ id }) => id === 'data')).toEqual([
    {
      id: 'data',
      state: 'unknown',
      text: 'there is no data yet: the API server has not sent any since the start',
    },
  ]);
  expect(await readyzLines()).toContain('data: unreachable, none yet');
});

// status once said the same for each collection, and twice.
test('an outage is one cause in readyz, in status, and on the page', async () => {
  await start();
  await connected(proxy);
  expect(await readyzLines()).not.toContainEqual(expect.stringMatching(/^cause/));
  await lose(proxy, front);
  clock.advance(71_000);
  expect((await fetch(`${admin.url}/readyz`)).status).toBe(503);
  const causes = async () =>
    (await readyzLines()).filter((line) => line.startsWith('cause: ')).join('\n');
  const onPage = async () => {
    const node = (await (await fetch(`${admin.url}/node`)).json()) as NodeDetails;
    return node.causes.map(({ text, checks }) => `cause: ${text} (${checks} checks)`).join('\n');
  };
  // The next attempt may fail in another way between two readings.
  await eventually(async () => (await causes()) === (await onPage()), true);
  const cause = /^cause: (the API server has been unreachable since .*) \((\d) checks\)$/;
  expect(await causes()).toMatch(cause);
  const run = async (...args: string[]) => {
    const line = [...args, '--admin', new URL(admin.url).host];
    return (await runInProcess(KUBE_PROXY_WRAPPER, line)).out;
  };
  for (const args of [[], ['web'], ['web', '--diff']]) {
    const [, second] = (await run('explain', ...args)).split('\n');
    expect(second).toMatch(/^! the data is 7\d s old, /);
  }
  const out = await run('status');
  expect(out.match(/unreachable since .*[(]/g)).toHaveLength(1);
  expect(out).toMatch(
    /^\[FAIL\] data +changes do not arrive: the API server is unreachable \(the data is 7\d s old/m,
  );
  expect(out.match(/^\[FAIL\] (?:data|wrapper|rules)/gm)).toHaveLength(1);
});
