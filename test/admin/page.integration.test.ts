import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import type { Admin } from '../../src/admin/admin.ts';
import type { NodeDetails } from '../../src/admin/page/node-details.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { putService, putSlice } from '../support/wrapper/small-cluster.ts';
import { useAdmin, useCluster, useWrapper } from '../support/wrapper/use.ts';

let server: ApiServer;
let proxy: NodeProxy;
let admin: Admin;
/** Lets the API server answer lists of endpoints. */
let release: () => void;

beforeEach(async () => {
  server = useCluster();
  putService(server, 'web', ['site', '*']);
  putSlice(server, 'web-1', 'web', [{ ip: '10.0.0.2', node: 'edge-2' }]);
  release = server.hold(({ path }) => path.endsWith('/endpointslices'));
  proxy = await useWrapper(await server.listen(), { readyWaitMs: 60_000 });
  admin = await useAdmin(proxy);
});

afterEach(async () => {
  release();
});

async function node(): Promise<NodeDetails> {
  return (await (await fetch(`${admin.url}/node`)).json()) as NodeDetails;
}

test('/node does not wait for views, and says why there are no Services', async () => {
  proxy.views.openDefault();
  await eventually(async () => (await node()).problem?.includes('not complete yet'), true);
  release();
  await eventually(async () => (await node()).problem, undefined);
  expect(await node()).toMatchObject({
    node: 'edge-1',
    keys: [{ key: 'site', neighbours: ['edge-2'] }, { key: '*' }],
    watches: 0,
    decisions: 0,
  });
});

test('/node lists the keys of own labels and the first others, and counts all of them', async () => {
  proxy.views.openDefault();
  release();
  for (let service = 0; service < 20; service++) {
    const keys = Array.from({ length: 16 }, (_, key) => `tenant.example/${service}-${key}`);
    putService(server, `made-up-${service}`, keys);
  }
  putService(server, 'last', ['own']);
  server.label('edge-1', 'own', 'a');
  await eventually(async () => (await node()).labels.own, 'a');
  await eventually(async () => (await node()).keyCount, 2 + 20 * 16 + 1);
  const keys = (await node()).keys.map(({ key }) => key);
  expect(keys.slice(0, 2).sort()).toEqual(['own', 'site']);
  expect(keys.length).toBeLessThanOrEqual(202);
});
