import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type ApiServer, createApiServer } from '../../../embedded/api-server.ts';
import type { KubeObject } from '../../../embedded/kube-object.ts';
import type { NodeProxy } from '../../../src/proxy/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import {
  createSmallCluster,
  putService,
  putSlice,
  servingTls,
} from '../../support/wrapper/small-cluster.ts';
import { PATHS, problemsOf, shownBy } from '../../support/wrapper/state-fixture.ts';
import { startWrapper } from '../../support/wrapper/wrapper-fixture.ts';

/*
 * etcd is restored from a backup: its versions continue from an older one. An API server accepts a watch from a version
 * that it has not reached yet, and drops all events and bookmarks up to it. The wrapper kept the state of before,
 * without end, and reported it as fresh.
 */

let before: ApiServer;
let after: ApiServer;
let proxy: NodeProxy;
let url: string;

/** The slice web-a has the endpoint 10.0.0.n. */
function cluster(version: number, n: number): ApiServer {
  const server = createSmallCluster({ initialResourceVersion: version });
  putService(server, 'web', ['site']);
  putSlice(server, 'web-a', 'web', [{ ip: `10.0.0.${n}`, node: 'edge-1' }]);
  return server;
}

beforeEach(async () => {
  before = cluster(5000, 1);
  url = await before.listen();
  proxy = await startWrapper(url);
  await shownBy(proxy, PATHS.slices);
  await eventually(() => slices().connected, true);
});

afterEach(async () => {
  await proxy.close();
  await before.close();
  await after.close();
});

const slices = () => {
  const found = proxy.views.sources.find(({ query }) => query.resource.plural === 'endpointslices');
  if (found === undefined) throw new Error('no view of slices');
  return found.status;
};

async function restore(server: ApiServer): Promise<void> {
  await before.close();
  after = server;
  await after.listen(Number(new URL(url).port));
}

const addresses = async () =>
  [...(await shownBy(proxy, PATHS.slices)).values()].flatMap(
    (bytes) => bytes.match(/10\.0\.0\.[0-9]+/g) ?? [],
  );

describe('after etcd was restored from a backup', () => {
  test('a running process shows what the backup holds', async () => {
    expect(await addresses()).toEqual(['10.0.0.1']);
    await restore(cluster(1000, 9));
    await eventually(addresses, ['10.0.0.9']);
    await eventually(() => slices().connected, true);
    putSlice(after, 'web-a', 'web', [{ ip: '10.0.0.8', node: 'edge-1' }]);
    await eventually(addresses, ['10.0.0.8']);
    await eventually(() => problemsOf(proxy), []);
  });

  // So many writes that no version shows it.
  test('an object that is older than it was is noticed, whatever the version of the list', async () => {
    const backup = (['nodes', 'services', 'endpointslices'] as const).map(
      (name) => [name, before.list(name)] as const,
    );
    const version = before.resourceVersion;
    putSlice(before, 'web-a', 'web', [{ ip: '10.0.0.2', node: 'edge-1' }]);
    await eventually(addresses, ['10.0.0.2']);
    const server = createApiServer({ initialResourceVersion: version, tls: servingTls('HTTP/2') });
    for (const [name, objects] of backup) server.restore(name, objects, version);
    const other = { metadata: { name: 'other', namespace: 'default' } };
    for (let write = 0; write < 50; write++) {
      server.create('services', other);
      server.delete('services', 'other');
    }
    await restore(server);
    await eventually(addresses, ['10.0.0.1']);
    await eventually(() => problemsOf(proxy), []);
  });

  // The watch is refused before its version can be checked, and the list is newer than the one before.
  test('an older object in a list shows that the others may differ, though their versions are the same', async () => {
    putSlice(before, 'web-b', 'web', [{ ip: '10.0.0.2', node: 'edge-1' }]);
    const [nodes, services, slices] = [
      before.list('nodes'),
      before.list('services'),
      before.list('endpointslices'),
    ];
    const version = before.resourceVersion;
    putSlice(before, 'web-b', 'web', [{ ip: '10.0.0.3', node: 'edge-1' }]);
    await eventually(addresses, ['10.0.0.1', '10.0.0.3']);
    const server = createApiServer({ initialResourceVersion: version, tls: servingTls('HTTP/2') });
    server.restore('nodes', nodes, version);
    server.restore('services', services, version);
    const endpoints = [{ addresses: ['10.0.0.9'], conditions: {}, nodeName: 'edge-1' }];
    const changed = slices.map((slice) =>
      slice.metadata.name === 'web-a' ? ({ ...slice, endpoints } as KubeObject) : slice,
    );
    server.restore('endpointslices', changed, version);
    const other = { metadata: { name: 'other', namespace: 'default' } };
    server.create('services', other);
    server.delete('services', 'other');
    server.compact('status');
    await restore(server);
    await eventually(addresses, ['10.0.0.9', '10.0.0.2']);
  });

  test('no view counts as connected before the API server has reached its version', async () => {
    const lists = slices().lists;
    const seen = new Set<boolean>();
    const server = cluster(1000, 9);
    const release = server.hold(({ query }) => query.get('resourceVersion') === null);
    await restore(server);
    const timer = setInterval(() => slices().lists === lists && seen.add(slices().connected), 1);
    await eventually(() => slices().lists, lists + 1);
    clearInterval(timer);
    release();
    expect([...seen]).toEqual([false]);
    await eventually(() => slices().connected, true);
  });
});
