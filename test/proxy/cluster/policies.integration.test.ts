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
  SERVICES_PATH,
  SLICES_PATH,
  statusOf,
} from '../../support/policy/policy-cluster.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { useCluster, useWatch, useWrapper } from '../../support/wrapper/use.ts';
import { recordingLogger } from '../../support/wrapper/wrapper-fixture.ts';

const ENCODINGS = ['json', 'protobuf'] as const;
const MESH = 'service.edgemesh.kubeedge.io/service-proxy-name';
const EDGE = 'node-role.kubernetes.io/edge';
const HOST = 'kubernetes.io/hostname';
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

test('until the own Node is known requests wait, and then get 503', async () => {
  proxy = await useWrapper(upstream, { nodeName: 'edge-9', readyWaitMs: 1_000 });
  const status = async () => await statusOf(proxy.url + SLICES_PATH, 'json');
  expect(await status()).toBe(503);
  const waiting = status();
  server.create('nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'edge-9' } });
  expect(await waiting).toBe(200);
});
