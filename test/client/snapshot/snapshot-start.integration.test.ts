import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import type { KubeObject } from '../../../fake-apiserver/kube-object.ts';
import { STREAMING_LIST } from '../../../harness/streaming-list.ts';
import { DEFAULT_READ_LIMITS } from '../../../src/client/api/read-limits.ts';
import { SnapshotFolder } from '../../../src/client/snapshot/snapshot-folder.ts';
import { decodeSnapshot, encodeSnapshot } from '../../../src/client/snapshot/snapshot-format.ts';
import type { NodeProxy, NodeProxyOptions } from '../../../src/server/node-proxy.ts';
import { addressesIn } from '../../support/codec/addresses-in.ts';
import { eventually } from '../../support/eventually.ts';
import { type LogLine, recordingLogger } from '../../support/recording-logger.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import {
  allShownBy,
  metricsOf,
  PATHS,
  problemsOf,
  shownBy,
  useState,
} from '../../support/wrapper/state-fixture.ts';
import { useCluster, useWatch, useWrapper } from '../../support/wrapper/use.ts';

let server: ApiServer;
let url: string;
let lines: readonly LogLine[];
let state: ReturnType<typeof useState>;

beforeEach(async () => {
  state = useState();
  server = useCluster();
  server.create('servicecidrs', {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name: 'kubernetes' },
    spec: { cidrs: ['10.96.0.0/12'] },
  });
  putService(server, 'web', ['site']);
  putSlice(server, 'web-a', 'web', [
    { ip: '10.0.0.1', node: 'edge-1' },
    { ip: '10.0.0.2', node: 'edge-2' },
    { ip: '10.0.0.3', node: 'edge-3' },
  ]);
  url = await server.listen();
});

afterEach(() => void jest.restoreAllMocks());

async function start(options: Partial<NodeProxyOptions> = {}): Promise<NodeProxy> {
  const recorded = recordingLogger();
  const { logger } = recorded;
  lines = recorded.lines;
  return await useWrapper(url, { state, ...options, logger });
}

/** A first process that has seen everything, and has ended. */
async function leaveState() {
  const proxy = await start();
  const shown = await allShownBy(proxy);
  await proxy.close();
  return shown;
}

const listen = async (): Promise<void> => void (await server.listen(Number(new URL(url).port)));

const addresses = (shown: Map<string, string>) =>
  [...shown.values()].flatMap((bytes) => addressesIn(bytes));

describe('a start while the API server is unreachable', () => {
  test('shows kube-proxy what the process before has shown, and reports that it is old', async () => {
    const before = await leaveState();
    await server.close();
    const started = performance.now();
    const proxy = await start();
    expect(await allShownBy(proxy)).toEqual(before);
    // A server that is silent, rather than gone, has 10 s.
    expect(performance.now() - started).toBeLessThan(8_000);
    expect(addresses(await shownBy(proxy, PATHS.slices))).toEqual(['10.0.0.1', '10.0.0.2']);
    // Own Node, ServiceCIDRs, Services, slices, and the node set site=a.
    const stale = problemsOf(proxy).filter((problem) => problem.startsWith('stale, from the snap'));
    expect(stale).toHaveLength(5);
    const metrics = await metricsOf(proxy);
    expect(metrics.match(/^kube_proxy_wrapper_view_from_snapshot\{.*\} 1$/gm)).toHaveLength(4);
    const logged = lines.filter(({ msg }) => msg.includes('the snapshot on disk is used'));
    expect(logged).toHaveLength(5);
    expect(logged[0]).toMatchObject({
      level: 40,
      saved: expect.stringMatching(/^20..-/),
      rv: '106',
    });
  });

  test('is followed by exactly what has changed, from a list that is not older than the snapshot', async () => {
    putSlice(server, 'same', 'web', [{ ip: '10.0.0.9', node: 'edge-1' }]);
    putSlice(server, 'gone', 'web', [{ ip: '10.0.0.8', node: 'edge-1' }]);
    await leaveState();
    const version = String(server.resourceVersion);
    await server.close();
    const proxy = await start();
    const watch = await useWatch(proxy.url + PATHS.slices, STREAMING_LIST);
    await watch.until(4);
    const before = server.requests.length;
    putSlice(server, 'web-a', 'web', [{ ip: '10.0.0.7', node: 'edge-2' }]);
    putSlice(server, 'new', 'web', [{ ip: '10.0.0.6', node: 'edge-2' }]);
    server.delete('endpointslices', 'gone');
    await listen();
    await eventually(() => problemsOf(proxy), []);
    await watch.until(7);
    expect(watch.names().slice(4).sort()).toEqual(['ADDED new', 'DELETED gone', 'MODIFIED web-a']);
    expect(lines.some(({ msg }) => msg.includes('its state replaces the snapshot'))).toBe(true);
    const [first] = server.requests.slice(before).filter(({ path }) => path === PATHS.slices);
    expect([first?.query.has('watch'), first?.query.get('resourceVersion')]).toEqual([
      false,
      version,
    ]);
  });

  test('is followed by one that shows all again, though only some has changed since', async () => {
    putSlice(server, 'same', 'web', [{ ip: '10.0.0.9', node: 'edge-1' }]);
    await leaveState();
    await server.close();
    const proxy = await start();
    await allShownBy(proxy);
    putSlice(server, 'web-a', 'web', [{ ip: '10.0.0.7', node: 'edge-2' }]);
    await listen();
    await eventually(() => problemsOf(proxy), []);
    await proxy.close();
    await server.close();
    const shown = addresses(await shownBy(await start(), PATHS.slices));
    expect(shown.sort()).toEqual(['10.0.0.7', '10.0.0.9']);
  });

  test('uses higher versions than the process before, though the clock was set back', async () => {
    const version = async (proxy: NodeProxy) => {
      const list = (await (await fetch(proxy.url + PATHS.slices)).json()) as KubeObject;
      return BigInt(list.metadata.resourceVersion ?? 0);
    };
    const first = await start();
    const before = await version(first);
    await first.close();
    await server.close();
    jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 60_000);
    expect(await version(await start())).toBeGreaterThan(before);
  });

  test('is replaced by the state of an API server that was restored from a backup', async () => {
    await leaveState();
    await server.close();
    const proxy = await start();
    expect(addresses(await shownBy(proxy, PATHS.slices))).toHaveLength(2);
    server.restore('endpointslices', [], 50);
    await listen();
    await eventually(async () => (await shownBy(proxy, PATHS.slices)).size, 0);
  });

  test('uses this node alone for a node set that is not on disk', async () => {
    await leaveState();
    // Its file is lost: power was cut a second after a policy had first used the key.
    for (const name of await readdir(state.folder)) {
      const isOfSet = (await readFile(join(state.folder, name), 'latin1')).includes('site%3Da');
      if (isOfSet) await rm(join(state.folder, name));
    }
    expect(await readdir(state.folder)).toHaveLength(5);
    await server.close();
    const proxy = await start();
    expect(addresses(await shownBy(proxy, PATHS.slices))).toEqual(['10.0.0.1']);
  });

  test('never shows a whole file whose objects cannot be parsed', async () => {
    await leaveState();
    const [name = ''] = (await readdir(state.folder)).filter((each) =>
      each.startsWith('endpointslices'),
    );
    const file = join(state.folder, name);
    const decoded = decodeSnapshot(await readFile(file));
    const objects = [...decoded.objects, Buffer.from('no object')];
    const bytes = decoded.header.bytes + 9;
    const header = { ...decoded.header, objects: objects.length, bytes };
    await writeFile(file, Buffer.concat([...encodeSnapshot(header, objects)]));
    await server.close();
    const proxy = await start({ readyWaitMs: 500 });
    await expect(shownBy(proxy, PATHS.slices)).rejects.toThrow('HTTP 503');
    await eventually(async () => (await readdir(state.folder)).includes('set-aside.torn'), true);
    expect(await readdir(state.folder)).not.toContain(name);
    expect((await shownBy(proxy, PATHS.nodes)).size).toBe(1);
  });

  test('uses this node alone for a node set larger than maxObjects, and keeps its file', async () => {
    await leaveState();
    const files = await readdir(state.folder);
    await server.close();
    const proxy = await start({ readLimits: { ...DEFAULT_READ_LIMITS, maxObjects: 1 } });
    expect(addresses(await shownBy(proxy, PATHS.slices))).toEqual(['10.0.0.1']);
    expect(lines.filter(({ msg }) => msg.includes('larger than a limit'))).toHaveLength(1);
    expect(await readdir(state.folder)).toEqual(files);
  });
});

test('a view of some slices does not write the file of all slices too', async () => {
  const proxy = await start();
  await shownBy(proxy, PATHS.slices);
  await shownBy(proxy, `${PATHS.slices}?labelSelector=a%3Db`);
  const written = Array.from(proxy.snapshots?.writer.states ?? [], ({ query }) => query);
  expect(written.filter((query) => query.includes('endpointslices'))).toHaveLength(1);
});

describe('a start while the API server answers', () => {
  // A busy machine takes longer to accept a connection than the grace time of the other tests.
  const PATIENT_MS = 2_000;

  afterEach(() => {
    expect(lines.some(({ msg }) => msg.includes('the snapshot on disk is used'))).toBe(false);
  });

  test('never shows the snapshot first, however slow the response', async () => {
    await leaveState();
    putSlice(server, 'web-a', 'web', [{ ip: '10.0.0.7', node: 'edge-1' }]);
    const release = server.hold(({ query }) => !query.has('watch'));
    const proxy = await start({ state: { ...state, graceMs: PATIENT_MS } });
    const watch = useWatch(proxy.url + PATHS.slices, STREAMING_LIST);
    setTimeout(release, 1.5 * PATIENT_MS);
    const { events } = await watch;
    await eventually(() => events.length, 2);
    const seen = events.flatMap((event) =>
      event.type === 'ERROR' ? [] : addressesIn(event.object),
    );
    expect(seen).toEqual(['10.0.0.7']);
  });

  test('never shows the snapshot if a list arrives while the process before still writes', async () => {
    await leaveState();
    await server.close();
    const flushing = Promise.withResolvers<void>();
    const flushLastProcess = jest.fn(() => flushing.promise);
    const loads = jest.spyOn(SnapshotFolder.prototype, 'loadNewest');
    const proxy = await start({ flushLastProcess });
    await eventually(() => flushLastProcess.mock.calls.length, 1);
    putSlice(server, 'web-a', 'web', [{ ip: '10.0.0.7', node: 'edge-1' }]);
    await listen();
    await eventually(() => shownBy(proxy, PATHS.slices).then(addresses), ['10.0.0.7']);
    flushing.resolve();
    await Promise.all(loads.mock.results.map(({ value }) => value));
    expect(loads).toHaveBeenCalled();
    await eventually(() => problemsOf(proxy), []);
  });
});
