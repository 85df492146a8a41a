import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import type { NodeProxy, NodeProxyOptions } from '../../../src/server/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { listAddresses, SLICES_PATH } from '../../support/policy/policy-cluster.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import { putNode, putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { useState } from '../../support/wrapper/state-fixture.ts';
import { useCluster, useWatch, useWrapper } from '../../support/wrapper/use.ts';

/* The zone key of a running wrapper, at slices that keep the zones that their nodes had. */

const ZONE = 'topology.kubernetes.io/zone';
const HOSTNAME = 'kubernetes.io/hostname';
let server: ApiServer;
let apiServer: string | undefined;
let proxy: NodeProxy;

beforeEach(() => {
  server = useCluster();
  apiServer = undefined;
  for (const node of ['edge-1', 'edge-2', 'edge-3']) server.label(node, HOSTNAME, node);
  for (const node of ['edge-1', 'edge-2']) server.label(node, ZONE, 'z1');
  server.label('edge-3', ZONE, 'z2');
  putService(server, 'web', [ZONE]);
  putSlice(server, 'web-a', 'web', [
    { ip: '10.0.0.1', node: 'edge-1', zone: 'z1' },
    { ip: '10.0.0.2', node: 'edge-2', zone: 'z1' },
    { ip: '10.0.0.3', node: 'edge-3', zone: 'z2' },
  ]);
});

async function start(options: Partial<NodeProxyOptions> = {}) {
  apiServer ??= await server.listen();
  proxy = await useWrapper(apiServer, options);
}

const shown = () => listAddresses(proxy.url + SLICES_PATH);

const isLookup = ({ path, query }: { path: string; query: URLSearchParams }) =>
  path === '/api/v1/nodes' &&
  query.get('watch') !== 'true' &&
  (query.get('labelSelector')?.startsWith(HOSTNAME) === true ||
    /metadata.name=(?!edge-1$)/.test(query.get('fieldSelector') ?? ''));
const lookups = () => server.requests.filter(isLookup);

test('a node that is moved to another zone leaves this one, and comes back', async () => {
  await start();
  await eventually(shown, [1, 2]);
  server.label('edge-2', ZONE, 'z2');
  await eventually(shown, [1]);
  expect(lookups()).toHaveLength(1);
  expect(lookups()[0]?.accept).toContain('as=PartialObjectMetadataList');
  // Not older than the event that has shown the move.
  expect(Number(lookups()[0]?.query.get('resourceVersion'))).toBeGreaterThan(100);
  server.label('edge-2', ZONE, 'z1');
  await eventually(shown, [1, 2]);
});

test('the first list after the start is right already', async () => {
  server.label('edge-2', ZONE, 'z2');
  server.label('edge-3', ZONE, 'z1');
  await start();
  // It waits until the view is complete.
  expect(await shown()).toEqual([1, 3]);
});

test('a Node that is deleted stays where its slices say, until it is registered elsewhere', async () => {
  await start();
  await eventually(shown, [1, 2]);
  const watch = await useWatch(proxy.url + SLICES_PATH);
  server.delete('nodes', 'edge-2');
  await eventually(() => lookups().length > 0, true);
  expect(await shown()).toEqual([1, 2]);
  putNode(server, 'edge-2', { [ZONE]: 'z1' });
  await eventually(() => proxy.topology.nodeSets.get(`${ZONE}=z1`)?.members.has('edge-2'), true);
  expect(watch.events).toHaveLength(1);
  server.delete('nodes', 'edge-2');
  putNode(server, 'edge-2', {});
  await eventually(shown, [1]);
});

describe('while Nodes cannot be looked up', () => {
  const fail = (answer: number) => server.refuse(isLookup, answer);

  test.each([403, 500])(
    '(%i) the slices count, which is logged once, and the labels as soon as they can',
    async (status) => {
      const { logger, lines } = recordingLogger();
      fail(status);
      server.label('edge-2', ZONE, 'z2');
      await start({ logger });
      await eventually(shown, [1, 2]);
      await eventually(
        () => lines.filter(({ msg }) => msg.startsWith('looking up Nodes failed')).length,
        1,
      );
      server.refuse(isLookup, undefined);
      await eventually(shown, [1]);
    },
  );
});

describe('a start while the API server is unreachable, after', () => {
  const port = () => Number(new URL(apiServer ?? '').port);

  test.each<[what: string, leave: () => Promise<void>]>([
    ['the end of the process before', () => proxy.close()],
    ['nothing: the process before still runs', async () => undefined],
  ])('%s, counts what look-ups have found before', async (_, leave) => {
    const state = useState();
    // It writes only when it has to.
    await start({ state: { ...state, quietMs: 60_000, unrestMs: 60_000 } });
    await eventually(shown, [1, 2]);
    server.label('edge-2', ZONE, 'z2');
    await eventually(shown, [1]);
    const before = proxy;
    await leave();
    await server.close();
    const flushLastProcess = async () => await before.snapshots?.flush();
    await start({ state, flushLastProcess });
    expect(await shown()).toEqual([1]);
    // As long as the API server says nothing else.
    server.label('edge-2', ZONE, 'z1');
    await server.listen(port());
    await eventually(shown, [1, 2]);
  });
});

test('endpoints that a tenant invents cost few requests, and take nothing from other Namespaces', async () => {
  await start();
  await eventually(shown, [1, 2]);
  const invented = Array.from({ length: 900 }, (_, n) => ({
    ip: '10.0.0.8',
    node: `invented-${n}`,
    zone: 'z1',
  }));
  putService(server, 'evil', [ZONE]);
  for (let n = 0; n < 9; n++) {
    putSlice(server, `evil-${n}`, 'evil', invented.slice(100 * n, 100 * n + 100));
  }
  await eventually(shown, [1, 2, 8]);
  server.label('edge-2', ZONE, 'z2');
  await eventually(shown, [1, 8]);
  expect(lookups().length).toBeLessThan(60);
});
