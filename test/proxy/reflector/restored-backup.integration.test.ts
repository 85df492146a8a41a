import { test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { eventually } from '../../support/eventually.ts';
import { listAddresses, SLICES_PATH } from '../../support/policy/policy-cluster.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { problemsOf } from '../../support/wrapper/state-fixture.ts';
import { useCluster, useWrapper } from '../../support/wrapper/use.ts';

/** The slice web-a has the endpoint 10.0.0.n. */
function cluster(version: number, n: number): ApiServer {
  const server = useCluster({ initialResourceVersion: version });
  putService(server, 'web', ['site']);
  putSlice(server, 'web-a', 'web', [{ ip: `10.0.0.${n}`, node: 'edge-1' }]);
  return server;
}

/*
 * etcd is restored from a backup: its versions continue from an older one. An API server accepts a watch from a version
 * that it has not reached yet, and drops all events and bookmarks up to it. The wrapper kept the state of before,
 * without end, and reported it as fresh.
 */
test('after etcd was restored from a backup, a running process shows what the backup holds', async () => {
  const before = cluster(5000, 1);
  const url = await before.listen();
  const proxy = await useWrapper(url);
  const shown = () => listAddresses(proxy.url + SLICES_PATH);
  await eventually(shown, [1]);
  await eventually(() => problemsOf(proxy), []);
  await before.close();
  const after = cluster(1000, 9);
  await after.listen(Number(new URL(url).port));
  await eventually(shown, [9]);
  putSlice(after, 'web-a', 'web', [{ ip: '10.0.0.8', node: 'edge-1' }]);
  await eventually(shown, [8]);
  await eventually(() => problemsOf(proxy), []);
});
