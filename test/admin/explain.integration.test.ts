import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import { STREAMING_LIST } from '../../harness/streaming-list.ts';
import type { Admin } from '../../src/admin/admin.ts';
import { type Diff, diffOf } from '../../src/admin/explain/diff.ts';
import type { Explained } from '../../src/admin/explain/explained-service.ts';
import type { NodeSummary } from '../../src/admin/explain/node-summary.ts';
import type { TimeSlice } from '../../src/admin/explain/time-slice.ts';
import type { RawSettings } from '../../src/config/settings.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { putNamespace } from '../support/policy/policy-cluster.ts';
import {
  putEndpoints,
  putHeadless,
  putService,
  putSlice,
} from '../support/wrapper/small-cluster.ts';
import { useAdmin, useCluster, useWatch, useWrapper } from '../support/wrapper/use.ts';

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const ENDPOINTS = [
  { ip: '10.0.0.1', node: 'edge-1', ready: false },
  { ip: '10.0.0.2', node: 'edge-2' },
  { ip: '10.0.0.3', node: 'edge-3' },
];

let server: ApiServer;
let proxy: NodeProxy;
let admin: Admin;

beforeEach(() => {
  server = useCluster();
  putService(server, 'web', ['kubernetes.io/hostname', 'site', '*']);
  putSlice(server, 'web-1', 'web', ENDPOINTS);
});

/** Starts the wrapper and, by default, a client that watches slices. */
async function start(raw: RawSettings = {}, watched = true): Promise<void> {
  proxy = await useWrapper(await server.listen(), {}, raw);
  admin = await useAdmin(proxy);
  if (!watched) return;
  const watch = await useWatch(`${proxy.url}${SLICES}`, STREAMING_LIST);
  await watch.until(1);
  await eventually(async () => (await get('/explain')).status, 200);
}

async function get<T>(path: string): Promise<{ status: number; body: T }> {
  const response = await fetch(`${admin.url}${path}`);
  return { status: response.status, body: (await response.json()) as T };
}

/** Addresses that a client of the wrapper receives now. */
async function listed(): Promise<string[]> {
  const response = await fetch(`${proxy.url}${SLICES}`);
  const { items } = (await response.json()) as {
    items: { endpoints: { addresses: string[] }[] | null }[];
  };
  return items.flatMap(({ endpoints }) => (endpoints ?? []).flatMap(({ addresses }) => addresses));
}

describe('/explain', () => {
  test('lists the keys of the Namespace that those of the Service override', async () => {
    putNamespace(server, 'default', '["*"]');
    await start({ namespacePolicies: true });
    const { body } = await get<Explained>('/explain/default/web');
    expect(body.policy.overrides).toEqual([{ source: 'namespace', keys: ['*'] }]);
  });

  // All kept endpoints of a large Service could once be missing in the list.
  test('lists kept endpoints first if a Service has more than 1,000', async () => {
    const far = Array.from({ length: 1_200 }, (_, n) => ({
      ip: `10.1.${n >> 8}.${n & 255}`,
      node: n === 1_100 ? 'edge-2' : 'edge-3',
    }));
    putService(server, 'huge', ['site']);
    putSlice(server, 'huge-1', 'huge', far);
    await start();
    const { body } = await get<Explained>('/explain/default/huge');
    expect(body.counts).toEqual({ total: 1_200, kept: 1, ready: 1, leftOut: 1_199 });
    expect(body.endpoints[0]).toMatchObject({ address: '10.1.4.76', kept: true });
    expect([body.endpoints.length, body.omitted]).toEqual([1_000, 200]);
  });

  test('a headless Service is explained if headless ones are filtered', async () => {
    putHeadless(server, 'db', ['site']);
    await start({ headless: true });
    expect((await get('/explain/default/db')).status).toBe(200);
    const { body } = await get<{ error: string }>('/explain/default/nobody');
    expect(body.error).toBe('there is no Service default/nobody that kube-proxy watches');
  });

  test('is answered before the first client, and says that no client reads the view', async () => {
    await start({}, false);
    const { status, body } = await get<NodeSummary>('/summary');
    expect([status, body.view.clients]).toEqual([200, 0]);
  });
});

describe('/diff', () => {
  const diff = async () => (await get<Diff>('/diff/default/web')).body;
  const pathsOf = ({ objects }: Diff) => objects.map(({ patch }) => patch.map(({ path }) => path));

  // A slice that was deleted meanwhile was hidden by a policy, and two decisions were mixed.
  test.each([
    ['a slice is deleted', () => server.delete('endpointslices', 'web-2')],
    ['another policy applies', () => server.annotate('web', 'topologyKeys', '["*"]')],
  ])('is about one state, though it pauses while %s', async (_, change) => {
    putSlice(server, 'web-2', 'web', [
      { ip: '10.0.1.2', node: 'edge-2' },
      { ip: '10.0.1.3', node: 'edge-3' },
    ]);
    await start();
    const diffWith = async (pause: () => Promise<void>) =>
      (await diffOf(proxy, 'default/web', { pause } as TimeSlice)).objects;
    const before = await diffWith(async () => {});
    const shown = await listed();
    let isChanged = false;
    const after = await diffWith(async () => {
      if (!isChanged) change();
      isChanged = true;
      await eventually(async () => (await listed()).length !== shown.length, true);
    });
    expect([isChanged, after]).toEqual([true, before]);
  });

  test('lists the removed endpoints of each subset of Endpoints', async () => {
    putEndpoints(server, 'web', ENDPOINTS.slice(1));
    const { subsets } = server.get('endpoints', 'web') as unknown as { subsets: object[] };
    const second = { addresses: [{ ip: '10.0.0.4', nodeName: 'edge-3' }] };
    server.patch('endpoints', 'web', { subsets: [...subsets, { ...subsets[0], ...second }] });
    await start({}, false);
    await useWatch(`${proxy.url}/api/v1/endpoints`, STREAMING_LIST);
    expect(pathsOf(await diff())[1]).toEqual(['/subsets/1/10.0.0.4', '/subsets/0/10.0.0.3']);
  });

  // Regression: a Pod that ends elsewhere and one that has got its address counted as one.
  test('tells endpoints with one address apart', async () => {
    putSlice(server, 'web-1', 'web', [
      { ip: '10.0.0.2', node: 'edge-2' },
      { ip: '10.0.0.2', node: 'edge-3', ready: false },
    ]);
    await start();
    expect(pathsOf(await diff())[1]).toEqual(['/endpoints/10.0.0.2 (2)']);
  });

  test('says that a Service and its objects are hidden', async () => {
    await start({ serviceFilter: { mode: 'FilterIfLabelExists' } });
    expect((await diff()).objects).toMatchObject([{ shown: false }, { shown: false }]);
  });
});

describe('the Services of kube-proxy', () => {
  const ALL = '/api/v1/services';
  const KUBE_PROXY = {
    ...STREAMING_LIST,
    labelSelector: '!service.kubernetes.io/service-proxy-name',
    fieldSelector: 'spec.clusterIP!=None',
  };

  // The first protobuf view with a client was once used, even if it covered only one namespace.
  test.each([
    ['one client', 1],
    ['no client', 0],
  ])('are found, which %s reads, even if those of a namespace came first', async (_, clients) => {
    await start({}, false);
    await useWatch(`${proxy.url}/api/v1/namespaces/shop/services`, STREAMING_LIST, 'protobuf');
    if (clients === 1) await useWatch(proxy.url + ALL, KUBE_PROXY, 'protobuf');
    await useWatch(`${proxy.url}${SLICES}`, STREAMING_LIST);
    const found = proxy.views.kubeProxy.services;
    expect(found?.query.namespace).toBe('');
    expect(found && proxy.views.users(found)).toBe(clients);
  });
});

describe('a dry run', () => {
  const ALL = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];

  test('of all Services shows all endpoints, and explains what the policies would show', async () => {
    await start({ dryRun: true });
    expect(await listed()).toEqual(ALL);
    const { body } = await get<Explained>('/explain/default/web');
    expect(body).toMatchObject({
      outcome: { kind: 'filtered', dryRun: true },
      counts: { kept: 2, leftOut: 1 },
      ports: [{ winner: 'site' }],
    });
    const diff = await get<Diff>('/diff/default/web');
    expect(diff.body.objects.map(({ patch }) => patch)).toEqual([[], []]);
  });

  test('does not hide a Service that another proxy would serve', async () => {
    const serviceFilter = { mode: 'FilterIfLabelExists' };
    await start({ dryRun: true, serviceFilter });
    expect(await listed()).toEqual(ALL);
    expect((await get<Explained>('/explain/default/web')).body.outcome).toMatchObject({
      kind: 'hidden',
      dryRun: true,
    });
  });
});

test('a Service that is hidden because the cloud serves it is no problem', async () => {
  putService(server, 'away', ['kube-proxy-wrapper.io/cloud']);
  putSlice(server, 'away-1', 'away', [{ ip: '10.0.0.9', node: 'edge-3' }]);
  await start({ cloud: { mode: 'passthrough' }, edge: { labelSelector: 'site=a' } });
  await eventually(() => proxy.topology.withheld?.size, 1);
  const { body } = await get<NodeSummary>('/summary');
  expect(body.endpoints.filtered).toEqual({ known: 4, shown: 2 });
  expect(body.withoutEndpoints.count).toBe(0);
});
