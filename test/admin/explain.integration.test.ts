import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import type { Admin } from '../../src/admin/admin.ts';
import type { Diff } from '../../src/admin/explain/diff.ts';
import type { Explained } from '../../src/admin/explain/explained-service.ts';
import type { Summary } from '../../src/admin/explain/summary.ts';
import type { RawSettings } from '../../src/config/settings.ts';
import type { NodeProxy } from '../../src/proxy/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { STREAMING_LIST } from '../support/guarantees/watch-recorder.ts';
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
  test('explains one Service with the endpoints that clients receive', async () => {
    await start();
    const { status, body } = await get<Explained>('/explain/default/web');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      service: 'default/web',
      node: 'edge-1',
      outcome: { kind: 'filtered', dryRun: false },
      policy: { managed: true, source: 'annotation' },
      counts: { total: 3, kept: 2, leftOut: 1 },
      ports: [{ port: 'TCP/http', winner: 'site', next: '*' }],
      view: { query: SLICES, clients: 1 },
    });
    const kept = body.endpoints.filter((each) => each.kept).map(({ address }) => address);
    expect(kept).toEqual(await listed());
  });

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

  describe('selects Services', () => {
    const select = async (query: string) => {
      const { body } = await get<Summary>(`/explain?count=true&${query}`);
      return { names: body.services?.map(({ service }) => service), count: body.count };
    };

    beforeEach(async () => {
      putService(server, 'api', null);
      putSlice(server, 'api-1', 'api', [{ ip: '10.0.0.8', node: 'edge-3' }]);
      putService(server, 'lost', ['rack']);
      putSlice(server, 'lost-1', 'lost', [{ ip: '10.0.0.9', node: 'edge-3' }]);
      putService(server, 'asleep', ['site']);
      putSlice(server, 'asleep-1', 'asleep', [{ ip: '10.0.0.7', node: 'edge-2', ready: false }]);
      putService(server, 'empty', ['site']);
      await start();
    });

    test.each([
      ['search=DEFAULT/+rack', ['default/lost'], 1],
      ['search=annotation+site', ['default/asleep', 'default/empty', 'default/web'], 3],
      ['search=no-policy', ['default/api'], 1],
      ['show=filtered&limit=1', ['default/asleep'], 4],
      ['show=failing', ['default/asleep', 'default/lost'], 2],
      ['warnings=true&warning=nothing-matches', ['default/lost'], 1],
      ['limit=2', ['default/api', 'default/asleep'], 5],
    ])('by %s', async (query, names, count) => {
      expect(await select(query)).toEqual({ names, count });
    });

    test('and counts their warnings by kind, whatever kind is listed', async () => {
      const { body } = await get<Summary>('/explain?warnings=true&warning=none-ready&count=true');
      expect(body.kinds).toEqual({ 'none-ready': 1, 'nothing-matches': 1, 'own-label-missing': 1 });
      expect(body.count).toBe(1);
    });

    // The page requests this every 2 s. It once explained as many Services as there are.
    test('and explains only those that it lists', async () => {
      const codecs = new Set(proxy.views.sources.map(({ view }) => view.codec));
      let explained = 0;
      for (const codec of codecs) {
        const read = codec.service.bind(codec);
        jest.spyOn(codec, 'service').mockImplementation((object) => {
          explained++;
          return read(object);
        });
      }
      await select('limit=2');
      jest.restoreAllMocks();
      expect(explained).toBe(2);
    });
  });

  test('lists all Services in pages', async () => {
    putService(server, 'api', null);
    putService(server, 'lost', ['rack']);
    putSlice(server, 'lost-1', 'lost', [{ ip: '10.0.0.9', node: 'edge-3' }]);
    await start();
    const { body } = await get<Summary>('/explain?limit=2');
    const warnings = ['own-label-missing', 'nothing-matches'];
    expect(body.services).toMatchObject([
      { service: 'default/api', outcome: 'unfiltered', policy: 'no-policy' },
      { service: 'default/lost', kept: 0, total: 1, warnings },
    ]);
    const second = (await get<Summary>(`/explain?limit=2&after=${body.next}`)).body;
    expect(second.services).toMatchObject([{ service: 'default/web', winners: ['site'] }]);
    expect(second).not.toHaveProperty('next');
    // What is left empty in a form is not asked for.
    const all = (await get<Summary>('/explain?namespace=&after=&limit=')).body;
    expect(all.services).toHaveLength(3);
  });

  test.each([
    ['/explain/default/nobody', 404, 'NotFound'],
    ['/explain/default', 400, 'BadRequest'],
    ['/explain?limit=0', 400, 'BadRequest'],
    ['/explain?show=nonsense', 400, 'BadRequest'],
    [`/explain?search=${'x'.repeat(201)}`, 400, 'BadRequest'],
    ['/diff/default/nobody', 404, 'NotFound'],
    ['/diff/default', 400, 'BadRequest'],
    ['/explain/%E0/x', 400, 'BadRequest'],
  ])('%s is answered with %d as JSON', async (path, status, code) => {
    await start();
    expect(await get(path)).toMatchObject({ status, body: { code, error: expect.any(String) } });
  });

  // The docs promised a warning, but kube-proxy does not watch the Service: the error was only "no such Service".
  test.each([
    [
      false,
      'db',
      404,
      'there is no Service default/db that kube-proxy watches; headless Services need the setting headless: true',
    ],
    [true, 'db', 200, undefined],
    [true, 'nobody', 404, 'there is no Service default/nobody that kube-proxy watches'],
  ])(
    'with headless: %s, /explain of %s is answered with %d',
    async (headless, name, status, error) => {
      putHeadless(server, 'db', ['site']);
      await start({ headless });
      const answer = await get<{ error?: string }>(`/explain/default/${name}`);
      expect([answer.status, answer.body.error]).toEqual([status, error]);
    },
  );

  test.each(['/explain', '/explain/default/web', '/diff/default/web', '/decisions', '/summary'])(
    '%s is answered before the first client, and says that no client reads the view',
    async (path) => {
      await start({}, false);
      const { status, body } = await get<Summary>(path);
      expect([status, body.view.clients]).toEqual([200, 0]);
    },
  );
});

describe('/diff', () => {
  const diff = async () => (await get<Diff>('/diff/default/web')).body;
  const pathsOf = ({ objects }: Diff) => objects.map(({ patch }) => patch.map(({ path }) => path));

  test('lists the Service and the removed endpoints of its slices by address', async () => {
    await start();
    const body = await diff();
    expect(body.objects.map(({ kind, shown }) => [kind, shown])).toEqual([
      ['Service', true],
      ['EndpointSlice', true],
    ]);
    expect(pathsOf(body)).toEqual([[], ['/endpoints/10.0.0.3']]);
    expect(body.objects[1]?.patch).toEqual([{ op: 'remove', path: '/endpoints/10.0.0.3' }]);
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

  test('lists the hints that are cut', async () => {
    const hints = { forZones: [{ name: 'z' }] };
    const endpoints = ['10.0.0.2', '10.0.0.4'].map((ip) => ({
      addresses: [ip],
      nodeName: 'edge-2',
      ...(ip === '10.0.0.2' ? { hints } : {}),
    }));
    server.patch('endpointslices', 'web-1', { endpoints });
    await start();
    expect(pathsOf(await diff())[1]).toEqual(['/endpoints/10.0.0.2/hints']);
  });

  test('says that a Service and its objects are hidden', async () => {
    await start({ serviceFilter: { mode: 'FilterIfLabelExists' } });
    expect((await diff()).objects).toMatchObject([{ shown: false }, { shown: false }]);
  });

  // Each request was a LIST: a script that asked in a loop cost the API server 95 LISTs a second.
  test('sends no request to the API server', async () => {
    await start();
    const before = server.requests.length;
    for (let n = 0; n < 20; n++) await diff();
    expect(server.requests.length).toBe(before);
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
    const metrics = await (await fetch(`${admin.url}/metrics`)).text();
    expect(metrics).toContain('kube_proxy_wrapper_services_dry_run 1\n');
    expect(metrics).toContain('kube_proxy_wrapper_services{policy="annotation"} 1\n');
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
