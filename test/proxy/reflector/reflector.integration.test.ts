import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../embedded/api-server.ts';
import { readiness } from '../../../src/admin/health/readiness.ts';
import type { NodeProxy } from '../../../src/proxy/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { STREAMING_LIST, type WatchRecorder } from '../../support/guarantees/watch-recorder.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { useCluster, useWatch, useWrapper } from '../../support/wrapper/use.ts';
import { type LogLine, recordingLogger } from '../../support/wrapper/wrapper-fixture.ts';

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';

let server: ApiServer;
let proxy: NodeProxy;
let watch: WatchRecorder;
let log: readonly LogLine[];
let upstreamPort: number;

beforeEach(async () => {
  server = useCluster();
  putService(server, 'web', ['kubernetes.io/hostname']);
  putSlice(server, 'web-a', 'web', [{ ip: '10.0.0.1', node: 'edge-1' }]);
  const url = await server.listen();
  upstreamPort = Number(new URL(url).port);
  const { logger, lines } = recordingLogger();
  log = lines;
  proxy = await useWrapper(url, { logger });
  watch = await useWatch(proxy.url + SLICES, STREAMING_LIST);
  await watch.until(2);
  await eventually(() => statusOfSlices()?.connected, true);
});

/** The slice's addresses as the client has them, from its last event. */
function seen(): string[] {
  const last = watch.events.findLast(({ type }) => type === 'ADDED' || type === 'MODIFIED');
  if (last === undefined || last.type === 'ERROR') return [];
  return last.object.toString('latin1').match(/10\.0\.0\.[0-9]+/g) ?? [];
}

function put(...addresses: number[]): void {
  const endpoints = addresses.map((n) => ({ ip: `10.0.0.${n}`, node: 'edge-1' }));
  putSlice(server, 'web-a', 'web', endpoints);
}

function slicesRequests() {
  return server.requests.filter(({ path }) => path === SLICES);
}

/** Whether a request only checks that the API server has reached a version: a list of one name. */
function isVersionCheck({ query }: { readonly query: URLSearchParams }): boolean {
  return query.get('fieldSelector')?.startsWith('metadata.name=') === true;
}

function statusOfSlices() {
  return proxy.views.sources.find(({ query }) => query.resource.plural === 'endpointslices')
    ?.status;
}

describe('a reflector', () => {
  test('continues a cut watch from the last version, without a new list', async () => {
    const before = slicesRequests().length;
    server.cutWatches();
    put(1, 2);
    await eventually(seen, ['10.0.0.1', '10.0.0.2']);
    const [again, query, ...more] = slicesRequests().slice(before);
    // The check of the version, which is answered with an empty list.
    expect(query && isVersionCheck(query)).toBe(true);
    expect(again?.query.get('watch')).toBe('true');
    const versions = [query, again].map((each) => each?.query.get('resourceVersion'));
    expect(versions).toEqual([expect.stringMatching(/^[1-9]/), versions[0]]);
    expect(more).toEqual([]);
  });

  test.each(['event', 'status'] as const)(
    'lists what it missed after its version has expired (as %s)',
    async (answer) => {
      const thaw = server.freezeWatches();
      put(1, 2);
      server.create('services', {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'other', namespace: 'default' },
        spec: { clusterIP: '10.96.0.11', ports: [{ port: 80 }] },
      });
      server.compact(answer);
      server.cutWatches();
      thaw();
      await eventually(seen, ['10.0.0.1', '10.0.0.2']);
      const lists = slicesRequests().filter((each) => !each.query.has('watch'));
      const whole = lists.filter((each) => !isVersionCheck(each));
      expect(whole.map(({ query }) => query.get('resourceVersion'))).toEqual([
        '0',
        expect.stringMatching(/^[1-9]/),
      ]);
    },
  );

  test('reports an object deleted while the API server was away as DELETED', async () => {
    await server.close();
    server.delete('endpointslices', 'web-a');
    server.compact();
    await server.listen(upstreamPort);
    await watch.until(3);
    expect(watch.names()).toEqual(['ADDED web-a', 'BOOKMARK', 'DELETED web-a']);
  });

  test('serves the last state while the API server is away, then catches up', async () => {
    await server.close();
    const list = await fetch(proxy.url + SLICES, {
      headers: { accept: 'application/vnd.kubernetes.protobuf' },
    });
    expect(list.status).toBe(200);
    await eventually(() => proxy.upstream.serverState.condition.name, 'unreachable');
    expect(statusOfSlices()?.connected).toBe(false);
    put(1, 2, 3);
    await server.listen(upstreamPort);
    await eventually(seen, ['10.0.0.1', '10.0.0.2', '10.0.0.3']);
    expect(log.filter(({ msg }) => msg === 'the API server answers again')).not.toEqual([]);
  });
});

describe('bad input', () => {
  test('a refused node set leaves this node as its only member, and is logged', async () => {
    server.refuse(({ query }) => query.get('labelSelector') === 'site=a', 403);
    put(1, 2);
    server.annotate('web', 'topologyKeys', '["site"]');
    await eventually(() => proxy.topology.nodeSets.get('site=a')?.state, 'refused');
    expect(log.some(({ msg, level }) => level === 50 && msg.includes('does not let us'))).toBe(
      true,
    );
    await eventually(seen, ['10.0.0.1', '10.0.0.2']);
  });

  test('a node set that is refused later keeps its nodes, and is reported until it is allowed again', async () => {
    server.annotate('web', 'topologyKeys', '["site"]');
    await eventually(() => proxy.topology.nodeSets.get('site=a')?.state, 'synced');
    const ofSet = ({ query }: { query: URLSearchParams }) =>
      query.get('labelSelector') === 'site=a';
    const problem = () => readiness(proxy).find(({ name }) => name === 'nodes site=a')?.problem;
    server.refuse(ofSet, 403);
    server.cutWatches();
    await eventually(() => problem()?.includes('the known nodes remain'), true);
    expect(proxy.topology.nodeSets.get('site=a')?.members).toContain('edge-2');
    server.refuse(ofSet, undefined);
    await eventually(problem, undefined);
    expect(proxy.topology.nodeSets.get('site=a')?.refusal).toBeUndefined();
  });

  test('while the own Node is unknown requests wait, then get 503 with Retry-After', async () => {
    const other = await useWrapper(`https://127.0.0.1:${upstreamPort}`, {
      nodeName: 'edge-9',
      readyWaitMs: 1_000,
    });
    try {
      const started = Date.now();
      const response = await fetch(other.url + SLICES);
      expect(response.status).toBe(503);
      expect(response.headers.get('retry-after')).toBe('1');
      expect(await response.json()).toMatchObject({ kind: 'Status', reason: 'ServiceUnavailable' });
      expect(Date.now() - started).toBeGreaterThanOrEqual(990);
      const waiting = fetch(other.url + SLICES);
      server.create('nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'edge-9' } });
      expect((await waiting).status).toBe(200);
    } finally {
      await other.close();
    }
  });
});
