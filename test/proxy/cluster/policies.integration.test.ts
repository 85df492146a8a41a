import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../embedded/api-server.ts';
import { readiness } from '../../../src/admin/health/readiness.ts';
import type { RawSettings } from '../../../src/config/settings.ts';
import type { NodeProxy } from '../../../src/proxy/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { STREAMING_LIST } from '../../support/guarantees/watch-recorder.ts';
import {
  KUBE_PROXY_SERVICES,
  labelService,
  listAddresses,
  listNames,
  putCommunity,
  putNamespace,
  SERVICES_PATH,
  SLICES_PATH,
  statusOf,
} from '../../support/policy/policy-cluster.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { stateFolder } from '../../support/wrapper/state-fixture.ts';
import { useCluster, useWatch, useWrapper } from '../../support/wrapper/use.ts';
import { recordingLogger } from '../../support/wrapper/wrapper-fixture.ts';

const ENCODINGS = ['json', 'protobuf'] as const;
const MESH = 'service.edgemesh.kubeedge.io/service-proxy-name';
const EDGE = 'node-role.kubernetes.io/edge';
const HOST = 'kubernetes.io/hostname';
const COMMUNITY = 'kube-proxy-wrapper.io/community';
const CLOUD = 'kube-proxy-wrapper.io/cloud';
const on = (n: number, ready = true) => ({ ip: `10.0.0.${n}`, node: `edge-${n}`, ready });

let server: ApiServer;
let proxy: NodeProxy;
let upstream: string;

beforeEach(async () => {
  server = useCluster();
  upstream = await server.listen();
});

async function start(settings: RawSettings): Promise<void> {
  proxy = await useWrapper(upstream, {}, settings);
}

/** Opens a watch as kube-proxy does and skips its initial events; returns the later events in short. */
async function follow(
  path: string,
  initial: number,
  query: Record<string, string> = {},
  encoding: (typeof ENCODINGS)[number] = 'protobuf',
): Promise<() => string[]> {
  const watch = await useWatch(proxy.url + path, { ...STREAMING_LIST, ...query }, encoding);
  await watch.until(initial + 1);
  expect(watch.names().at(-1)).toBe('BOOKMARK');
  return () => watch.names().slice(initial + 1);
}

describe.each(ENCODINGS)('in %s', (encoding) => {
  const services = () => listNames(proxy.url + SERVICES_PATH, encoding);
  const slices = () => listNames(proxy.url + SLICES_PATH, encoding);
  const getService = () =>
    statusOf(`${proxy.url}/api/v1/namespaces/default/services/web`, encoding);

  test.each([
    ['FilterIfLabelDoesNotExists', true],
    ['FilterIfLabelExists', false],
  ] as const)('%s: the label decides who serves a Service, live', async (mode, hidesLabelled) => {
    putService(server, 'web', null);
    putSlice(server, 'web-a', 'web', [on(1)]);
    const hide = () => labelService(server, 'web', MESH, hidesLabelled ? 'edge-proxy' : null);
    const show = () => labelService(server, 'web', MESH, hidesLabelled ? null : 'edge-proxy');
    hide();
    await start({ serviceFilter: { mode } });
    const seenServices = await follow(SERVICES_PATH, 0, KUBE_PROXY_SERVICES, encoding);
    const seenSlices = await follow(SLICES_PATH, 0, {}, encoding);
    expect([await services(), await slices(), await getService()]).toEqual([[], [], 404]);
    show();
    await eventually(seenServices, ['ADDED web']);
    await eventually(seenSlices, ['ADDED web-a']);
    await eventually(getService, 200);
    expect([await services(), await slices()]).toEqual([['web'], ['web-a']]);
    hide();
    await eventually(seenServices, ['ADDED web', 'DELETED web']);
    await eventually(seenSlices, ['ADDED web-a', 'DELETED web-a']);
    await eventually(getService, 404);
    expect([await services(), await slices()]).toEqual([[], []]);
    server.annotate('web', 'any', 'change');
    server.delete('services', 'web');
    putService(server, 'other', null);
    labelService(server, 'other', MESH, hidesLabelled ? null : 'edge-proxy');
    await eventually(() => seenServices().at(-1)?.endsWith(' other'), true);
    expect(seenServices().filter((event) => event.endsWith(' web'))).toHaveLength(2);
  });

  test('passthrough: a cloud-only Service is hidden, and returns with a nearer endpoint', async () => {
    server.label('edge-1', EDGE, '');
    server.label('edge-2', EDGE, '');
    putService(server, 'web', [HOST, CLOUD]);
    putSlice(server, 'web-a', 'web', [on(3)]);
    await start({ cloud: { mode: 'passthrough' } });
    const seenServices = await follow(SERVICES_PATH, 0, KUBE_PROXY_SERVICES, encoding);
    const seenSlices = await follow(SLICES_PATH, 0, {}, encoding);
    expect([await services(), await slices(), await getService()]).toEqual([[], [], 404]);
    putSlice(server, 'web-b', 'web', [on(1)]);
    await eventually(seenServices, ['ADDED web']);
    await eventually(() => seenSlices().sort(), ['ADDED web-a', 'ADDED web-b']);
    expect(await getService()).toBe(200);
    expect(await listAddresses(proxy.url + SLICES_PATH, encoding)).toEqual([1]);
    putSlice(server, 'web-b', 'web', [on(1, false)]);
    await eventually(seenServices, ['ADDED web', 'DELETED web']);
    await eventually(slices, []);
    expect(await getService()).toBe(404);
    server.label('edge-1', EDGE, null);
    await eventually(services, ['web']);
    await eventually(slices, ['web-a', 'web-b']);
  });

  test('own node with the filter off shows everything, with the filter on hides as before', async () => {
    server.label('edge-1', EDGE, '');
    putService(server, 'web', [HOST, CLOUD]);
    putSlice(server, 'web-a', 'web', [on(2), on(3)]);
    putService(server, 'mesh', null);
    labelService(server, 'mesh', MESH, 'edge-proxy');
    await start({
      cloud: { mode: 'passthrough' },
      serviceFilter: { mode: 'FilterIfLabelDoesNotExists' },
    });
    const seen = await follow(SERVICES_PATH, 0, KUBE_PROXY_SERVICES, encoding);
    const switchTo = (value: string | null) =>
      server.patch('nodes', 'edge-1', {
        metadata: { annotations: { 'kube-proxy-wrapper.io/filter': value } },
      });
    expect(await slices()).toEqual([]);
    switchTo('off');
    await eventually(() => seen().sort(), ['ADDED mesh', 'ADDED web']);
    await eventually(() => listAddresses(proxy.url + SLICES_PATH, encoding), [2, 3]);
    switchTo(null);
    await eventually(services, []);
    await eventually(slices, []);
    expect(seen().slice(2).sort()).toEqual(['DELETED mesh', 'DELETED web']);
  });
});

describe('passthrough', () => {
  test('a client that watches only Services is notified too', async () => {
    server.label('edge-1', EDGE, '');
    putService(server, 'web', [HOST, CLOUD]);
    putSlice(server, 'web-a', 'web', [on(3)]);
    await start({ cloud: { mode: 'passthrough' } });
    expect(await listNames(proxy.url + SERVICES_PATH, 'json')).toEqual([]);
    putSlice(server, 'web-a', 'web', [on(1)]);
    await eventually(() => listNames(proxy.url + SERVICES_PATH, 'json'), ['web']);
  });
});

const seenAddresses = () => listAddresses(proxy.url + SLICES_PATH);

describe('sources of the topology', () => {
  test('the annotation of a Namespace is added, changed and removed', async () => {
    putService(server, 'web', null);
    putSlice(server, 'web-a', 'web', [on(1), on(2), on(3)]);
    putNamespace(server, 'default');
    await start({ namespacePolicies: true, defaultTopologyKeys: ['*'] });
    expect(await seenAddresses()).toEqual([1, 2, 3]);
    putNamespace(server, 'default', 'prefer-same-node');
    await eventually(seenAddresses, [1]);
    putNamespace(server, 'default', '["site"]');
    await eventually(seenAddresses, [1, 2]);
    putNamespace(server, 'default', 'nonsense');
    await eventually(seenAddresses, [1, 2, 3]);
    putNamespace(server, 'default', '["site"]');
    await eventually(seenAddresses, [1, 2]);
    server.delete('namespaces', 'default');
    await eventually(seenAddresses, [1, 2, 3]);
  });

  test.each([
    ['Namespace', { namespacePolicies: true, defaultTopologyKeys: ['*'] }],
    ['community', { communities: { fabedgeCluster: 'here' }, defaultTopologyKeys: [COMMUNITY] }],
  ])('a gateway that answers 404 for the API server removes no %s', async (_, settings) => {
    putService(server, 'web', null);
    putSlice(server, 'web-a', 'web', [on(1), on(2), on(3)]);
    putNamespace(server, 'default', 'prefer-same-node');
    putCommunity(server, 'one', ['here.edge-1', 'here.edge-2']);
    await start(settings);
    const shown = await seenAddresses();
    expect(shown).not.toContain(3);
    const sent = () => {
      const { lists = 0, watches = 0 } = proxy.clusterWatchers.sources[0]?.status ?? {};
      return lists + watches;
    };
    const before = sent();
    server.refuse(() => true, 404);
    server.cutWatches();
    await eventually(async () => sent() > before + 1, true);
    expect(proxy.clusterWatchers.sources[0]?.status.error?.status?.code).toBe(404);
    expect(await seenAddresses()).toEqual(shown);
  });

  test('a gateway that answers 404 at the start does not empty the snapshot of communities', async () => {
    putCommunity(server, 'one', ['here.edge-1', 'here.edge-2']);
    const settings = { communities: { fabedgeCluster: 'here' } };
    const { state, remove } = await stateFolder();
    const status = () => proxy.clusterWatchers.sources[0]?.status;
    try {
      proxy = await useWrapper(upstream, { state }, settings);
      await eventually(async () => status()?.synced, true);
      await proxy.close();
      server.refuse(() => true, 404);
      proxy = await useWrapper(upstream, { state }, settings);
      await eventually(async () => (status()?.lists ?? 0) > 1, true);
      expect(status()).toMatchObject({ synced: false, error: { status: { code: 404 } } });
    } finally {
      await remove();
    }
  });

  test('fab-proxy’s experiment: communities {edge-1, edge-2} and {edge-2, edge-3}', async () => {
    putService(server, 'web', [HOST, COMMUNITY]);
    putSlice(server, 'web-a', 'web', [on(2), on(3)]);
    putCommunity(server, 'one', ['here.edge-1', 'here.edge-2']);
    putCommunity(server, 'two', ['here.edge-2', 'here.edge-3', 'there.edge-1']);
    await start({ communities: { fabedgeCluster: 'here' } });
    expect(await seenAddresses()).toEqual([2]);
    putCommunity(server, 'two', ['here.edge-1', 'here.edge-3']);
    await eventually(seenAddresses, [2, 3]);
    server.delete('communities', 'one');
    await eventually(seenAddresses, [3]);
    server.delete('communities', 'two');
    await eventually(seenAddresses, []);
  });

  test('a community is shared between a custom resource and labels', async () => {
    putService(server, 'web', [COMMUNITY]);
    putSlice(server, 'web-a', 'web', [on(2), on(3)]);
    putCommunity(server, 'red', ['here.edge-1']);
    await start({ communities: { fabedgeCluster: 'here', nodeLabels: ['pool'] } });
    expect(await seenAddresses()).toEqual([]);
    server.label('edge-2', 'pool', 'red');
    await eventually(seenAddresses, [2]);
    server.label('edge-3', 'community.kube-proxy-wrapper.io/red', 'true');
    await eventually(seenAddresses, [2, 3]);
  });

  test.each([
    ['namespaces', '/api/v1/namespaces', { namespacePolicies: true }],
    [
      'communities',
      '/apis/fabedge.io/v1alpha1/communities',
      { communities: { fabedgeCluster: 'here' } },
    ],
  ])(
    '%s that the API server refuses are missed loudly, and hold nothing up',
    async (plural, path, settings) => {
      putService(server, 'web', [HOST]);
      putSlice(server, 'web-a', 'web', [on(1), on(2)]);
      server.refuse((request) => request.path === path, 403);
      const { logger, lines } = recordingLogger();
      proxy = await useWrapper(upstream, { logger, readyWaitMs: 5000 }, settings);
      expect(await seenAddresses()).toEqual([1]);
      const errors = lines.filter(({ level, msg }) => level === 50 && msg.includes(plural));
      expect(errors).toHaveLength(1);
      const checks = readiness(proxy);
      expect(checks.find(({ name }) => name.includes(path))?.problem).toMatch(/403|refused/);
    },
  );
});
