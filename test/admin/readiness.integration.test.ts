import { beforeEach, expect, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import type { UrlFront } from '../../harness/network/tcp-front.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { advancingClock } from '../support/advancing-clock.ts';
import { eventually } from '../support/eventually.ts';
import { connected, lose } from '../support/wrapper/outage.ts';
import { putService } from '../support/wrapper/small-cluster.ts';
import {
  checksOf,
  PATHS,
  problemOf,
  problemsOf,
  shownBy,
} from '../support/wrapper/state-fixture.ts';
import { useCluster, useFront, useWrapper } from '../support/wrapper/use.ts';

/*
 * The 10 s once counted from the last event. A quiet watch gets only a bookmark a minute, so the node became unready
 * immediately when such a watch was reset.
 */
let server: ApiServer;
let front: UrlFront;
let proxy: NodeProxy;
const clock = advancingClock();

beforeEach(async () => {
  server = useCluster();
  front = await useFront(await server.listen());
  proxy = await useWrapper(front.url);
  await fetch(proxy.url + PATHS.cidrs);
  await connected(proxy);
});

const cidrs = () => problemOf(proxy, 'servicecidrs');

test('the node is unready 10 s after a connection was lost, however quiet it was before', async () => {
  clock.advance(50_000);
  expect(problemsOf(proxy)).toEqual([]);
  await lose(proxy, front);
  expect(problemsOf(proxy)).toEqual([]);
  clock.advance(9_000);
  expect(problemsOf(proxy)).toEqual([]);
  clock.advance(2_000);
  // One age everywhere: since the connection was lost, not since this view got an event.
  expect(cidrs()).toMatch(/^stale, nothing has arrived for 1[12] s: .*is unreachable/);
});

test('each loss has its own 10 s', async () => {
  const lost = await lose(proxy, front);
  clock.advance(8_000);
  await lost.end();
  await connected(proxy);
  clock.advance(50_000);
  await lose(proxy, front);
  clock.advance(8_000);
  expect(problemsOf(proxy)).toEqual([]);
  clock.advance(3_000);
  expect(cidrs()).toMatch(/^stale/);
});

test('a refused watch does not count as a connection while it waits for the next attempt', async () => {
  server.refuse(({ path }) => path === PATHS.cidrs, 403);
  server.cutWatches();
  const view = () =>
    proxy.views.sources.find((source) => source.view.resource.plural === 'servicecidrs');
  await eventually(() => view()?.status.error?.status?.code, 403);
  expect(view()?.status.connected).toBe(false);
  clock.advance(11_000);
  expect(cidrs()).toMatch(/^the wrapper lacks a right: .*403/);
});

test('a view that was listed but never watched becomes unready 10 s after the list', async () => {
  server.refuse(({ query }) => query.has('watch'), 403);
  await shownBy(proxy, PATHS.slices);
  const view = () =>
    proxy.views.sources.find(({ view }) => view.resource.plural === 'endpointslices');
  await eventually(() => view()?.status.error?.status?.code, 403);
  expect(problemsOf(proxy)).toEqual([]);
  clock.advance(11_000);
  expect(problemsOf(proxy).join()).toMatch(/^the wrapper lacks a right: .*endpointslices.*403/);
});

// A tenant who toggles an annotation, or a client with a selector of its own, must not take the node out of service.
test('what is read for the first time while the wrapper runs does not make the node unready', async () => {
  await shownBy(proxy, PATHS.slices);
  const release = server.hold(({ query }) => query.get('labelSelector') === 'site=a');
  const remarks = () =>
    checksOf(proxy).flatMap(({ name, remark }) =>
      remark === 'but not synced yet' ? [name.replace(/^.* /, '')] : [],
    );
  putService(server, 'web', ['site']);
  const answer = fetch(`${proxy.url}/api/v1/services?labelSelector=site%3Da`);
  await eventually(() => remarks().length, 2);
  expect(problemsOf(proxy)).toEqual([]);
  release();
  expect((await answer).status).toBe(200);
  await eventually(remarks, []);
  expect(problemsOf(proxy)).toEqual([]);
});
