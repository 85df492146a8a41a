import { beforeEach, expect, test } from '@jest/globals';
import { watchSlices } from '../../demo/watch-client.ts';
import type { ApiServer } from '../../embedded/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { FakeCredentials } from '../support/http/credentials.ts';
import { putSlice } from '../support/wrapper/small-cluster.ts';
import { useCluster } from '../support/wrapper/use.ts';

let server: ApiServer;
let credentials: FakeCredentials;

beforeEach(async () => {
  server = useCluster({ tls: undefined });
  credentials = new FakeCredentials(new URL(await server.listen()));
  putSlice(server, 'web-1', 'web', [{ ip: '10.0.0.1', node: 'edge-1' }]);
});

test('the client of the demo has what it lists, and what changes later', async () => {
  const client = await watchSlices(credentials);
  let calls = 0;
  client.subscribe(() => calls++);
  expect([...client.shown]).toEqual([['default/web-1', new Set(['10.0.0.1'])]]);
  putSlice(server, 'web-2', 'web', [{ ip: '10.0.0.2', node: 'edge-1' }]);
  server.delete('endpointslices', 'web-1');
  await eventually(async () => [...client.shown], [['default/web-2', new Set(['10.0.0.2'])]]);
  expect(calls).toBeGreaterThan(0);
  await client.close();
});

test('a refusal is the error of its first list', async () => {
  server.refuse(() => true, 403);
  await expect(watchSlices(credentials)).rejects.toThrow('refused on purpose');
});
