import { beforeEach, expect, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import type { Admin } from '../../src/admin/admin.ts';
import type { NodeSummary } from '../../src/admin/explain/node-summary.ts';
import type { RawSettings } from '../../src/config/settings.ts';
import type { NodeProxy } from '../../src/proxy/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { putService, putSlice, type SmallEndpoint } from '../support/wrapper/small-cluster.ts';
import { PATHS } from '../support/wrapper/state-fixture.ts';
import { useAdmin, useCluster, useWrapper } from '../support/wrapper/use.ts';

/* The wrapper runs on edge-1. A policy once left a Service without endpoints, and nothing reported it. */
const FAR: SmallEndpoint = { ip: '10.0.0.3', node: 'edge-3' };
const NEAR: SmallEndpoint = { ip: '10.0.0.1', node: 'edge-1' };
const HOST_ONLY = ['kubernetes.io/hostname'];

let server: ApiServer;
let proxy: NodeProxy;
let admin: Admin;

beforeEach(() => {
  server = useCluster();
});

async function start(raw: RawSettings = {}): Promise<void> {
  proxy = await useWrapper(await server.listen(), {}, raw);
  admin = await useAdmin(proxy);
  for (const path of [PATHS.slices, PATHS.services]) await fetch(proxy.url + path);
}

function put(name: string, keys: string[] | null, endpoints: readonly SmallEndpoint[]): void {
  putService(server, name, keys);
  putSlice(server, `${name}-1`, name, endpoints);
}

async function summary(): Promise<NodeSummary> {
  return (await fetch(`${admin.url}/summary`)).json() as Promise<NodeSummary>;
}

async function metrics(): Promise<string[]> {
  const text = await (await fetch(`${admin.url}/metrics`)).text();
  return text.split('\n').map((line) => line.replace('kube_proxy_wrapper_', ''));
}

test('/summary and metrics count Services with a port without endpoints, and with one without a ready one, apart', async () => {
  const sick = { ...NEAR, ready: false };
  // The slices have one of two ports, and only on another node the other one; none has the port `lone`.
  const two = [
    { name: 'http', port: 80 },
    { name: 'more', port: 81 },
  ];
  put('half', HOST_ONLY, [NEAR]);
  server.patch('services', 'half', { spec: { ports: two } });
  putSlice(server, 'half-2', 'half', [FAR]);
  server.patch('endpointslices', 'half-2', {
    ports: [{ name: 'more', port: 81, protocol: 'TCP' }],
  });
  put('lone', HOST_ONLY, [NEAR]);
  server.patch('services', 'lone', { spec: { ports: [{ name: 'lone', port: 80 }] } });
  put('lost', HOST_ONLY, [FAR]);
  put('fine', HOST_ONLY, [NEAR, FAR]);
  put('empty', HOST_ONLY, []);
  put('plain', null, [FAR]);
  // The key with a ready endpoint wins, and hostname has none: everything that matches any key is shown.
  put('here', HOST_ONLY, [sick, FAR]);
  put('anywhere', HOST_ONLY, [sick, { ...FAR, ready: false }]);
  await start();
  expect(await summary()).toMatchObject({
    node: 'edge-1',
    endpoints: { filtered: { known: 10, shown: 4 }, unfiltered: { known: 1, shown: 1 } },
    withoutEndpoints: { count: 2, services: ['default/half', 'default/lost'] },
    withoutReady: { count: 1, services: ['default/here'] },
    noneReady: { count: 2, services: ['default/anywhere', 'default/lone'] },
  });
  const excluded = 'services_without_ready_endpoints{reason="excluded"}';
  const counts = [
    `${excluded} 2`,
    'services_without_ready_endpoints{reason="not_ready_here"} 1',
    'services_without_ready_endpoints{reason="not_ready_anywhere"} 2',
    'endpoints_known{filtered="true"} 10',
    'endpoints_shown{filtered="true"} 4',
    'endpoints_known{filtered="false"} 1',
    'endpoints_shown{filtered="false"} 1',
  ];
  expect(await metrics()).toEqual(expect.arrayContaining(counts));
  putSlice(server, 'lost-1', 'lost', [NEAR]);
  await eventually(async () => (await metrics()).includes(`${excluded} 1`), true);
});

test('a dry run leaves no Service without endpoints', async () => {
  put('lost', HOST_ONLY, [FAR]);
  await start({ dryRun: true });
  expect(await summary()).toMatchObject({
    endpoints: { unfiltered: { known: 1, shown: 1 } },
    withoutEndpoints: { count: 0 },
  });
});

test('a Service that is hidden because the cloud serves it is no problem', async () => {
  putService(server, 'away', ['kube-proxy-wrapper.io/cloud']);
  putSlice(server, 'away-1', 'away', [FAR]);
  await start({ cloud: { mode: 'passthrough' }, edge: { labelSelector: 'site=a' } });
  await eventually(() => proxy.topology.withheld?.size, 1);
  expect(await summary()).toMatchObject({
    endpoints: { filtered: { shown: 0 } },
    withoutEndpoints: { count: 0 },
  });
});
