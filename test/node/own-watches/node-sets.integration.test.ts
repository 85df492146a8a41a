import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import type { RawSettings } from '../../../src/config/settings.ts';
import type { NodeProxy, NodeProxyOptions } from '../../../src/server/node-proxy.ts';
import { ManualClock } from '../../support/clocks.ts';
import { eventually } from '../../support/eventually.ts';
import { listAddresses, SLICES_PATH } from '../../support/policy/policy-cluster.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { checksOf, problemOf } from '../../support/wrapper/state-fixture.ts';
import { useCluster, useWrapper } from '../../support/wrapper/use.ts';

let server: ApiServer;
let proxy: NodeProxy;
/** Moves only in {@link ManualClock.pass}. */
let time: ManualClock;

beforeEach(async () => {
  server = useCluster();
  time = new ManualClock();
  putService(server, 'web', null);
  putSlice(server, 'web-a', 'web', [
    { ip: '10.0.0.1', node: 'edge-1' },
    { ip: '10.0.0.2', node: 'edge-2' },
    { ip: '10.0.0.3', node: 'edge-3' },
  ]);
});

async function start(raw: RawSettings = {}, options: Partial<NodeProxyOptions> = {}) {
  proxy = await useWrapper(await server.listen(), { nodeSetClock: time, ...options }, raw);
}

const shown = () => listAddresses(proxy.url + SLICES_PATH);

const isNodeSet = ({ path, query }: { path: string; query: URLSearchParams }) =>
  path === '/api/v1/nodes' && query.has('labelSelector');

/** Selectors of the node sets that are watched. */
function watched(): string[] {
  const sets = [...proxy.topology.nodeSets.values()];
  return sets.flatMap(({ selector, watch }) => (watch === undefined ? [] : [selector]));
}

/** Requests for node sets so far. */
function requested(): { lists: number; watches: number } {
  const ofNodes = server.requests.filter(isNodeSet);
  const watches = ofNodes.filter(({ query }) => query.get('watch') === 'true').length;
  return { lists: ofNodes.length - watches, watches };
}

test('a node set closes a minute after the last policy that needs it, and at the end', async () => {
  server.annotate('web', 'topologyKeys', '["site"]');
  await start();
  await eventually(shown, [1, 2]);
  expect(watched()).toEqual(['site=a']);
  expect(time.waiting).toBe(0);
  server.annotate('web', 'topologyKeys', null);
  await eventually(shown, [1, 2, 3]);
  time.pass(59_999);
  expect(watched()).toEqual(['site=a']);
  expect(checksOf(proxy).map(({ name }) => name)).not.toContain('nodes site=a');
  time.pass(1);
  expect(watched().length).toBe(0);
  expect(proxy.topology.nodeSets.size).toBe(0);
  server.annotate('web', 'topologyKeys', '["site"]');
  await eventually(shown, [1, 2]);
  await eventually(requested, { lists: 2, watches: 2 });
  server.annotate('web', 'topologyKeys', null);
  await eventually(shown, [1, 2, 3]);
  expect(time.waiting).toBe(1);
  await proxy.topology.close();
  expect(time.waiting).toBe(0);
});

test('a Service whose node set has no room shows all its endpoints, which is reported', async () => {
  const { logger, lines } = recordingLogger();
  for (const name of ['edge-1', 'edge-2']) server.label(name, 'rack', 'r');
  server.annotate('web', 'topologyKeys', '["site"]');
  putService(server, 'db', ['rack']);
  putSlice(server, 'db-a', 'db', [{ ip: '10.0.0.8', node: 'edge-2' }]);
  await start({ maxNodeSets: 1 }, { logger });
  await eventually(shown, [1, 2, 3, 8]);
  await eventually(() => requested().watches, 1);
  expect(proxy.topology.nodeSets.get('site=a')?.state).toBe('overLimit');
  const check = checksOf(proxy).find(({ name }) => name === 'nodes site=a');
  expect(check?.problem).toBeUndefined();
  expect(check).toMatchObject({
    detail: expect.stringContaining('maxNodeSets'),
  });
  const reported = () => lines.filter(({ selector }) => selector === 'site=a');
  expect(reported().map(({ msg }) => msg)).toEqual([expect.stringContaining('maxNodeSets')]);
  const outcomes = proxy.views.sources.flatMap((each) => [...(each.projection?.outcomes() ?? [])]);
  expect(outcomes.filter(({ problem }) => problem === 'node-set-limit')).toMatchObject([
    { service: 'default/web', kind: 'unfiltered', reason: 'node-set-limit' },
  ]);
  // The first one makes room when no policy needs it any more.
  server.annotate('db', 'topologyKeys', '["*"]');
  await eventually(shown, [1, 2, 8]);
  await eventually(() => requested().watches, 2);
  expect(watched()).toEqual(['site=a']);
  expect(reported()).toHaveLength(1);
});

test('all nodes are never requested, and node sets only as metadata', async () => {
  server.annotate('web', 'topologyKeys', '["site","topology.kubernetes.io/zone","*"]');
  await start();
  await eventually(shown, [1, 2]);
  const nodes = server.requests.filter(({ path }) => path === '/api/v1/nodes');
  for (const { query } of nodes) {
    expect(query.get('fieldSelector') ?? query.get('labelSelector')).toMatch(/=./);
  }
  for (const { accept } of nodes.filter(isNodeSet)) {
    expect(accept).toContain('as=PartialObjectMetadata');
  }
});

describe('while the nodes of a set cannot be listed', () => {
  beforeEach(async () => {
    server.annotate('web', 'topologyKeys', '["site"]');
    await start();
    await eventually(shown, [1, 2]);
    server.refuse(isNodeSet, 500);
    server.cutWatches();
    server.annotate('web', 'topologyKeys', null);
    await eventually(() => proxy.topology.nodeSets.get('site=a')?.needed, false);
    time.pass(600_000);
  });

  // Its node set was closed a minute after the Service had gone, and could not be listed again.
  test('a Service that needs them again has its endpoints, however late', async () => {
    await eventually(shown, [1, 2, 3]);
    server.annotate('web', 'topologyKeys', '["site"]');
    await eventually(shown, [1, 2]);
  });

  test('the set stays open, until a minute after its watch is open again', async () => {
    expect(watched().length).toBe(1);
    server.refuse(isNodeSet, undefined);
    await eventually(() => proxy.topology.nodeSets.get('site=a')?.watch?.status.connected, true);
    time.pass(60_000);
    expect(watched().length).toBe(0);
  });
});

test('a node set that the API server refuses leaves this node as its only member, and is logged', async () => {
  const { logger, lines } = recordingLogger();
  server.refuse(isNodeSet, 403);
  server.annotate('web', 'topologyKeys', '["site"]');
  await start({}, { logger });
  await eventually(shown, [1]);
  await eventually(() => proxy.topology.nodeSets.get('site=a')?.state, 'refused');
  const logged = lines.filter(({ msg, level }) => level === 50 && msg.includes('does not let us'));
  expect(logged).toHaveLength(1);
});

test('a node set that is refused later keeps its nodes, and is reported until it is allowed again', async () => {
  server.annotate('web', 'topologyKeys', '["site"]');
  await start();
  await eventually(shown, [1, 2]);
  const problem = () => problemOf(proxy, 'nodes site=a');
  server.refuse(isNodeSet, 403);
  server.cutWatches();
  await eventually(() => problem()?.includes('the known nodes remain'), true);
  expect(await shown()).toEqual([1, 2]);
  server.refuse(isNodeSet, undefined);
  await eventually(problem, undefined);
  expect(proxy.topology.nodeSets.get('site=a')?.refusal).toBeUndefined();
});
