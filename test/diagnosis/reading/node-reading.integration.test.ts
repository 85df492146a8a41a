import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import type { NodeStatus } from '../../../src/admin/status/status-line.ts';
import { NodeReader } from '../../../src/diagnosis/reading/node-reading.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { connected, lose } from '../../support/wrapper/outage.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { PATHS, shownBy, useState } from '../../support/wrapper/state-fixture.ts';
import { useAdmin, useCluster, useFront, useWrapper } from '../../support/wrapper/use.ts';

let server: ApiServer;
let proxy: NodeProxy;

beforeEach(async () => {
  server = useCluster();
  putService(server, 'web', ['site']);
  putSlice(server, 'web-1', 'web', [{ ip: '10.0.0.3', node: 'edge-3' }]);
  proxy = await useWrapper(await server.listen());
});

afterEach(() => {
  jest.restoreAllMocks();
});

/** Lets no time pass from now on. */
function stopClock(at = performance.now()): void {
  jest.spyOn(performance, 'now').mockReturnValue(at);
}

test('all that show the node in a second count its Services once', async () => {
  await shownBy(proxy, PATHS.slices);
  const projection = proxy.views.kubeProxy.endpoints?.projection;
  if (projection === undefined) throw new Error('no view of endpoints');
  const counts = jest.spyOn(projection, 'outcomes');
  const { url } = await useAdmin(proxy);
  const at = performance.now();
  counts.mockClear();
  stopClock(at + 2_000);
  const all = ['/metrics', '/status', '/summary', '/node', '/readyz', '/explain?show=failing'];
  for (const path of [...all, '/metrics']) {
    await (await fetch(url + path)).text();
  }
  expect(counts).toHaveBeenCalledTimes(1);
  stopClock(at + 2_999);
  await fetch(`${url}/summary`);
  expect(counts).toHaveBeenCalledTimes(1);
  stopClock(at + 3_000);
  await fetch(`${url}/summary`);
  expect(counts).toHaveBeenCalledTimes(2);
});

// Probes decide about traffic and roll-outs, and scripts wait for one answer before they ask for the next.
test('all but the numbers of Services is as it is now', async () => {
  const front = await useFront(proxy.upstream.failover.servers[0].href);
  const relayed = await useWrapper(front.url);
  await connected(relayed);
  const { url } = await useAdmin(relayed);
  const state = async () => {
    const status = await (await fetch(`${url}/status`)).json();
    return (status as NodeStatus).data.state;
  };
  expect(await state()).toBe('connected');
  const at = performance.now();
  await lose(relayed, front);
  stopClock(at);
  expect(await (await fetch(`${url}/readyz`)).text()).toContain('data: unreachable');
  expect(await state()).toBe('unreachable');
});

test('the numbers of Services from before an object changed are not given again', async () => {
  await shownBy(proxy, PATHS.slices);
  const reader = new NodeReader(proxy);
  const tally = () => {
    const { view, services } = reader.read();
    return services.of(view);
  };
  const failing = () => tally()?.problems.withoutEndpoints.length;
  expect(failing()).toBe(1);
  stopClock();
  putSlice(server, 'web-1', 'web', [{ ip: '10.0.0.2', node: 'edge-2' }]);
  await eventually(failing, 0);
  // No endpoint changes, and no view.
  putService(server, 'far', ['']);
  await eventually(() => reader.read().services.policies.get('invalid-policy'), 1);
});

test('a request that has waited for the view of kube-proxy gets its Services', async () => {
  const { url } = await useAdmin(proxy);
  const summary = async () => (await fetch(`${url}/summary`)).json();
  stopClock();
  expect(await (await fetch(`${url}/node`)).json()).toHaveProperty('problem');
  expect(await summary()).toMatchObject({ withoutEndpoints: { services: ['default/web'] } });
});

test('a reading is not changed by what happens later', async () => {
  const { href } = proxy.upstream.failover.servers[0];
  const kept = await useWrapper(href, { state: useState() });
  await shownBy(kept, PATHS.slices);
  const reading = new NodeReader(kept).read();
  const { services: _, ...plain } = reading;
  const asText = () =>
    JSON.stringify(plain, (_, value) => (value instanceof Map ? [...value] : value));
  const before = asText();
  putSlice(server, 'web-1', 'web', [{ ip: '10.0.0.2', node: 'edge-2' }]);
  server.label('edge-1', 'own', 'a');
  await eventually(() => kept.topology.nodeContext?.labels.get('own'), 'a');
  await eventually(() => kept.views.kubeProxy.endpoints?.projection.journal.count, 1);
  await kept.snapshots?.flush();
  expect(asText()).toBe(before);
});
