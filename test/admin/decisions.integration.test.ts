import { beforeEach, expect, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import { STREAMING_LIST } from '../../harness/streaming-list.ts';
import { decisionsOf, lastChanges } from '../../src/admin/explain/decisions.ts';
import { explainOne } from '../../src/admin/explain/explained-service.ts';
import { requireCompleteView } from '../../src/admin/explain/explained-view.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import type { WatchRecorder } from '../support/guarantees/watch-recorder.ts';
import { putService, putSlice } from '../support/wrapper/small-cluster.ts';
import { useCluster, useWatch, useWrapper } from '../support/wrapper/use.ts';

let server: ApiServer;
let proxy: NodeProxy;
let watch: WatchRecorder;

beforeEach(async () => {
  server = useCluster();
  putService(server, 'web', ['site', '*']);
  putService(server, 'plain', null);
  putSlice(server, 'web-1', 'web', [
    { ip: '10.0.0.2', node: 'edge-2' },
    { ip: '10.0.0.3', node: 'edge-3' },
  ]);
  putSlice(server, 'plain-1', 'plain', [{ ip: '10.0.0.9', node: 'edge-3' }]);
  proxy = await useWrapper(await server.listen());
  const slices = `${proxy.url}/apis/discovery.k8s.io/v1/endpointslices`;
  watch = await useWatch(slices, STREAMING_LIST);
  await watch.until(2);
  await eventually(() => proxy.views.sources.every(({ status }) => status.connected), true);
});

/** The last decision as `from → to, kept → kept: cause`. */
function last(): string | undefined {
  const latest = decisionsOf(proxy, 0, 1).decisions.at(-1);
  if (latest === undefined) return undefined;
  const { service, from, to, keptBefore, keptAfter, cause } = latest;
  return `${service} ${from} → ${to}, ${keptBefore} → ${keptAfter}: ${cause.kind} ${cause.subject}`;
}

test('each changed decision is listed with its cause', async () => {
  // A Service without a policy shows all endpoints, however many they are.
  putSlice(server, 'plain-1', 'plain', [
    { ip: '10.0.0.8', node: 'edge-2' },
    { ip: '10.0.0.9', node: 'edge-3' },
  ]);
  await eventually(() => watch.names().at(-1), 'MODIFIED plain-1');
  expect(decisionsOf(proxy, 0, 10)).toMatchObject({ node: 'edge-1', count: 0, decisions: [] });

  server.label('edge-2', 'site', 'b');
  await eventually(last, 'default/web site → *, 1 → 2: nodes edge-2');

  server.label('edge-1', 'site', 'b');
  await eventually(last, 'default/web * → site, 2 → 2: own-node site');

  putSlice(server, 'web-1', 'web', [{ ip: '10.0.0.3', node: 'edge-3' }]);
  await eventually(last, 'default/web site → site, 2 → 1: endpoints default/web-1');

  server.annotate('web', 'topologyKeys', null);
  await eventually(last, 'default/web site → no-policy, 1 → null: policy ');

  const { changes = [] } = await explainOne(proxy, 'default/web');
  expect(changes.map(({ cause }) => cause.kind)).toEqual([
    'policy',
    'endpoints',
    'own-node',
    'nodes',
  ]);
  const latest = lastChanges(requireCompleteView(proxy), 'default/web', 2);
  expect(latest.map(({ number }) => number)).toEqual([4, 3]);

  server.delete('endpointslices', 'plain-1');
  await eventually(last, 'default/plain no-policy → null, null → 0: endpoints default/plain-1');
});
