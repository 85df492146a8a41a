import { beforeEach, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../embedded/api-server.ts';
import type { NodeProxy } from '../../../src/proxy/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { listAddresses, SLICES_PATH } from '../../support/policy/policy-cluster.ts';
import { ManualClock } from '../../support/projection/topology.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { useCluster, useWrapper } from '../../support/wrapper/use.ts';

let server: ApiServer;
let proxy: NodeProxy;
let nodeSetTime: ManualClock;
const fill = () => {
  putService(server, 'web', ['site']);
  putSlice(server, 'web-a', 'web', [
    { ip: '10.0.0.1', node: 'edge-1' },
    { ip: '10.0.0.2', node: 'edge-2' },
    { ip: '10.0.0.3', node: 'edge-3' },
  ]);
};
beforeEach(async () => {
  server = useCluster();
  nodeSetTime = new ManualClock();
  fill();
  const url = await server.listen();
  proxy = await useWrapper(url, { nodeSetTime });
  await eventually(shown, [1, 2]);
});
const shown = () => listAddresses(proxy.url + SLICES_PATH);
const isNodeSet = ({ path, query }: { path: string; query: URLSearchParams }) =>
  path === '/api/v1/nodes' && query.has('labelSelector');

// Its node set was closed a minute after the Service had gone, and could not be listed again.
test('a Service that comes back while its nodes cannot be listed has its endpoints, however late', async () => {
  const answerAgain = server.refuse(isNodeSet, 500);
  server.cutWatches();
  server.delete('services', 'web');
  server.delete('endpointslices', 'web-a');
  await eventually(shown, []);
  nodeSetTime.pass(600_000);
  fill();
  await eventually(shown, [1, 2]);
  answerAgain();
});

test('a node set that no policy needs is closed a minute after its watch is open again', async () => {
  const answerAgain = server.refuse(isNodeSet, 500);
  server.cutWatches();
  server.delete('services', 'web');
  await eventually(() => proxy.topology.nodeSets.get('site=a')?.needed, false);
  nodeSetTime.pass(600_000);
  expect(proxy.nodeSets.statuses.size).toBe(1);
  answerAgain();
  await eventually(() => proxy.nodeSets.statuses.get('site=a')?.connected, true);
  nodeSetTime.pass(60_000);
  expect(proxy.nodeSets.statuses.size).toBe(0);
});
