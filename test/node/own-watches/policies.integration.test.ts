import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { STREAMING_LIST } from '../../../harness/streaming-list.ts';
import type { RawSettings } from '../../../src/config/settings.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import {
  KUBE_PROXY_SERVICES,
  labelService,
  listAddresses,
  listNames,
  SERVICES_PATH,
  SLICES_PATH,
  statusOf,
} from '../../support/policy/policy-cluster.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import { putHeadless, putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { problemOf } from '../../support/wrapper/state-fixture.ts';
import { useCluster, useWatch, useWrapper } from '../../support/wrapper/use.ts';

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

describe('a hidden Service', () => {
  const PASSTHROUGH: RawSettings = { cloud: { mode: 'passthrough' } };
  const label = (isLabelled: boolean) =>
    labelService(server, 'web', MESH, isLabelled ? 'edge-proxy' : null);
  const setLocalReady = (isReady: boolean) => putSlice(server, 'web-b', 'web', [on(1, isReady)]);

  beforeEach(() => {
    server.label('edge-1', EDGE, '');
    putService(server, 'web', [HOST, CLOUD]);
    putSlice(server, 'web-a', 'web', [on(3)]);
    setLocalReady(false);
  });

  test.each<[string, RawSettings, (isHidden: boolean) => void]>([
    [
      'that has the label of another proxy',
      { serviceFilter: { mode: 'FilterIfLabelDoesNotExists' } },
      (isHidden) => label(isHidden),
    ],
    [
      'that lacks the label of this proxy',
      { serviceFilter: { mode: 'FilterIfLabelExists' } },
      (isHidden) => label(!isHidden),
    ],
    ['whose traffic all goes to the cloud', PASSTHROUGH, (isHidden) => setLocalReady(!isHidden)],
  ])(
    '%s leaves LIST, WATCH and GET with its slices, and returns, live',
    async (_, raw, setHidden) => {
      setHidden(true);
      proxy = await useWrapper(upstream, {}, raw);
      const urls = [proxy.url + SERVICES_PATH, proxy.url + SLICES_PATH] as const;
      const query = { ...STREAMING_LIST, ...KUBE_PROXY_SERVICES };
      const services = await useWatch(urls[0], query, 'json');
      const slices = await useWatch(urls[1], STREAMING_LIST, 'protobuf');
      const getUrl = `${proxy.url}/api/v1/namespaces/default/services/web`;
      for (const encoding of ['json', 'protobuf'] as const) {
        const state = async () => [
          await listNames(urls[0], encoding),
          await listNames(urls[1], encoding),
          await statusOf(getUrl, encoding),
        ];
        expect(await state()).toEqual([[], [], 404]);
        setHidden(false);
        await eventually(state, [['web'], ['web-a', 'web-b'], 200]);
        setHidden(true);
        await eventually(state, [[], [], 404]);
      }
      const cycle = ['ADDED web', 'DELETED web'];
      await eventually(() => services.names(), ['BOOKMARK', ...cycle, ...cycle]);
      const seen = () =>
        slices
          .names()
          .filter((event) => !event.startsWith('MODIFIED'))
          .sort();
      const twice = ['ADDED web-a', 'ADDED web-b', 'DELETED web-a', 'DELETED web-b'];
      await eventually(seen, [...twice, ...twice, 'BOOKMARK'].sort());
    },
  );

  test('is never a headless one, whose names would be lost: it shows the endpoints in the cloud', async () => {
    putHeadless(server, 'db', [HOST, CLOUD]);
    putSlice(server, 'db-a', 'db', [on(3)]);
    proxy = await useWrapper(upstream, {}, { ...PASSTHROUGH, headless: true });
    expect(await listNames(proxy.url + SERVICES_PATH, 'json')).toEqual(['db']);
    expect(await listNames(proxy.url + SLICES_PATH, 'json')).toEqual(['db-a']);
  });

  test('returns to a client that watches only Services', async () => {
    proxy = await useWrapper(upstream, {}, PASSTHROUGH);
    expect(await listNames(proxy.url + SERVICES_PATH, 'json')).toEqual([]);
    setLocalReady(true);
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
    proxy = await useWrapper(upstream, { logger }, settings);
    expect(await seenAddresses()).toEqual([1]);
    const errors = lines.filter(({ level, msg }) => level === 50 && msg.includes(plural));
    expect(errors).toHaveLength(1);
    expect(problemOf(proxy, path)).toMatch(/403|refused/);
  },
);

test('until the own Node is known requests wait, and then get 503', async () => {
  proxy = await useWrapper(upstream, { nodeName: 'edge-9', readyWaitMs: 3_000 });
  const status = async () => await statusOf(proxy.url + SLICES_PATH, 'json');
  const refused = await fetch(proxy.url + SLICES_PATH);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  const waiting = status();
  server.create('nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'edge-9' } });
  expect(await waiting).toBe(200);
});
