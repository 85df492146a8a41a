import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { explainOne } from '../../../src/admin/explain/explained-service.ts';
import { CURRENT_SLICES, servicesBeside } from '../../../src/client/api/kube-proxy-queries.ts';
import { type Query, queryPath } from '../../../src/client/api/query.ts';
import type { RawSettings } from '../../../src/config/settings.ts';
import { readHealth } from '../../../src/diagnosis/reading/health.ts';
import type { ViewSource } from '../../../src/node/views/view-source.ts';
import type { NodeProxy, NodeProxyOptions } from '../../../src/server/node-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { putService, putSlice, rejectFieldSelectors } from '../../support/wrapper/small-cluster.ts';
import { useAdmin, useCluster, useWrapper } from '../../support/wrapper/use.ts';

const NODE = 'edge-1';
const NEW = {
  slices: CURRENT_SLICES,
  services: servicesBeside(CURRENT_SLICES, false, false) as Query,
};
const OLDER = '!service.kubernetes.io/headless,!service.kubernetes.io/service-proxy-name';
/** kube-proxy 1.33 to 1.35. */
const OLD = {
  services: { ...NEW.services, labelSelector: OLDER },
  slices: { ...NEW.slices, labelSelector: OLDER },
};
/** kube-proxy up to 1.32. */
const OLDEST = { slices: OLD.slices, services: { ...OLD.services, fieldSelector: '' } };

let server: ApiServer;
let proxy: NodeProxy;

beforeEach(() => {
  server = useCluster();
  putService(server, 'web', ['kubernetes.io/hostname']);
  putSlice(server, 'web-1', 'web', [
    { ip: '10.0.0.1', node: NODE },
    { ip: '10.0.0.3', node: 'edge-3' },
  ]);
});

async function start(
  options: Partial<NodeProxyOptions> = { defaultViewsMs: 0 },
  raw: RawSettings = {},
): Promise<void> {
  proxy = await useWrapper(await server.listen(), options, raw);
}

const open = () =>
  proxy.views.sources
    .map(({ query }) => query)
    .filter(({ resource }) => resource.plural !== 'nodes');
const paths = (...queries: Query[]) => queries.map((query) => queryPath(query)).sort();
const openPaths = () => paths(...open());
const kept = async () => (await explainOne(proxy, 'default/web')).counts.kept;

/** Reads a query like a kube-proxy: with a lease until the end of the test. */
async function use(query: Query): Promise<() => void> {
  const { view, release } = proxy.views.acquire(query);
  await eventually(() => view.started, true);
  return release;
}

/** Waits until a view that is opened later than the others has been closed because it is idle. */
async function idleTimePasses(): Promise<void> {
  const before = openPaths();
  proxy.views.acquire({ ...NEW.slices, labelSelector: 'a=b' }).release();
  await eventually(openPaths, before);
}

describe('before any kube-proxy has come', () => {
  // explain, the page and check once answered only "no client has requested endpoints yet".
  test('the views of the newest one are open, however short the idle time, and it shares them', async () => {
    await start({ defaultViewsMs: 0, idleViewMs: 20 });
    await eventually(openPaths, paths(NEW.slices, NEW.services));
    await eventually(() => proxy.views.sources.every(({ view }) => view.started), true);
    expect(await kept()).toBe(1);
    await idleTimePasses();
    const ofEach = (read: (source: ViewSource) => number) => proxy.views.sources.map(read);
    expect(ofEach((source) => proxy.views.users(source))).toEqual([0, 0, 0]);
    await use(NEW.slices);
    await use(NEW.services);
    expect(openPaths()).toEqual(paths(NEW.slices, NEW.services));
    expect(ofEach(({ status }) => status.lists)).toEqual([1, 1, 1]);
  });

  test('the first request for an explanation opens them, and waits for them', async () => {
    await start({});
    expect(open()).toEqual([]);
    const admin = await useAdmin(proxy);
    const response = await fetch(`${admin.url}/explain/default/web`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ counts: { kept: 1, total: 2 } });
    expect(openPaths()).toEqual(paths(NEW.slices, NEW.services));
  });

  test.each(['slices', 'services'] as const)(
    'a client that comes earlier with %s decides what is open',
    async (kind) => {
      await start({ defaultViewsMs: 100_000 });
      await use(OLD[kind]);
      proxy.views.openDefault();
      await eventually(openPaths, paths(OLD.slices, OLD.services));
    },
  );
});

describe('when a kube-proxy comes', () => {
  test('an older one gets its own views, the others are closed, and the policies remain active', async () => {
    await start();
    await eventually(() => proxy.views.sources.every(({ view }) => view.started), true);
    expect(await kept()).toBe(1);
    await use(OLD.slices);
    await use(OLD.services);
    await eventually(openPaths, paths(OLD.slices, OLD.services));
    expect(await kept()).toBe(1);
    server.annotate('default/web', 'topologyKeys', '["*"]');
    await eventually(kept, 2);
  });

  // Its slices do not show which Services it reads.
  test.each([OLDEST, OLD])('its Services and those of policies are one watch', async (queries) => {
    await start({ defaultViewsMs: 100_000 });
    await use(queries.slices);
    await use(queries.services);
    expect(openPaths()).toEqual(paths(queries.slices, queries.services));
    expect(await kept()).toBe(1);
  });

  test('a Service that only the first query contained is forgotten', async () => {
    putService(server, 'plain', null);
    server.patch('services', 'default/plain', {
      metadata: { labels: { 'service.kubernetes.io/headless': '' } },
    });
    await start();
    await eventually(
      () => [...proxy.topology.policies.services()].sort(),
      ['default/plain', 'default/web'],
    );
    await use(OLD.services);
    await eventually(() => [...proxy.topology.policies.services()], ['default/web']);
  });

  test('its view stays open when it has gone, so that explain still works, until another comes', async () => {
    await start({ defaultViewsMs: 0, idleViewMs: 20 });
    await eventually(() => open().length, 2);
    const release = await use(OLD.slices);
    await eventually(openPaths, paths(OLD.slices, OLD.services));
    release();
    await idleTimePasses();
    (await use(NEW.slices))();
    await eventually(openPaths, paths(NEW.slices, OLD.services));
  });

  // In JSON its view counts in the budget.
  test('a view in JSON is explained while it is open, is not kept, and no default opens beside it', async () => {
    await start({ defaultViewsMs: 100_000, idleViewMs: 200 });
    (await use(NEW.slices))();
    const release = await use({ ...NEW.slices, encoding: 'json' });
    proxy.views.openDefault();
    await eventually(openPaths, paths(NEW.slices, NEW.services));
    expect(proxy.views.kubeProxy.endpoints?.query.encoding).toBe('json');
    release();
    await eventually(() => proxy.views.kubeProxy.endpoints, undefined);
    proxy.views.openDefault();
    expect(proxy.views.kubeProxy.endpoints?.query).toEqual(NEW.slices);
  });

  test('a view without room is not explained in place of the default', async () => {
    await start({ defaultViewsMs: 0, maxViewBytes: 1 });
    await eventually(() => proxy.views.kubeProxy.endpoints?.view.started, true);
    const { view } = proxy.views.acquire({ ...NEW.slices, labelSelector: '' });
    await eventually(() => view.closed !== undefined, true);
    expect(proxy.views.kubeProxy.endpoints?.query).toEqual(NEW.slices);
  });

  // Any local process can send its queries, or others.
  test('its view is explained while it reads, whatever others request', async () => {
    await start({ defaultViewsMs: 100_000 });
    const foreign = { ...NEW.slices, labelSelector: '' };
    await use(foreign);
    expect(proxy.views.kubeProxy.endpoints?.query).toEqual(foreign);
    await use(NEW.slices);
    for (const query of [OLD.slices, foreign, { ...NEW.slices, namespace: 'default' }]) {
      await use(query);
      expect(proxy.views.kubeProxy.endpoints?.query).toEqual(NEW.slices);
    }
  });

  // A client with the selectors of a kube-proxy up to 1.34, beside a kube-proxy 1.36: status said [FAIL] for minutes.
  test.each([
    ['slices', 'services'],
    ['services', 'slices'],
  ] as const)(
    'another client with the query of an older one for %s is not it',
    async (kind, beside) => {
      await start({ defaultViewsMs: 100_000 });
      const release = await use(OLD[kind]);
      const shown = { slices: 'endpoints', services: 'services' } as const;
      const read = (of: 'slices' | 'services') => proxy.views.kubeProxy[shown[of]]?.query;
      expect(read(kind)).toEqual(OLD[kind]);
      await use(NEW[kind]);
      const end = await use(NEW[beside]);
      expect([read(kind), read(beside)]).toEqual([NEW[kind], NEW[beside]]);
      release();
      end();
      await use(NEW[beside]);
      expect([read(kind), read(beside)]).toEqual([NEW[kind], NEW[beside]]);
    },
  );

  test('when another client with all queries of an older one ends, the kube-proxy that reads is it', async () => {
    await start({ defaultViewsMs: 100_000 });
    const ends = [await use(OLD.slices), await use(OLD.services)];
    await use(NEW.slices);
    await use(NEW.services);
    expect(proxy.views.kubeProxy.endpoints?.query).toEqual(OLD.slices);
    for (const end of ends) end();
    const { endpoints, services } = proxy.views.kubeProxy;
    expect([endpoints?.query, services?.query]).toEqual([NEW.slices, NEW.services]);
    expect([endpoints, services].map((source) => source && proxy.views.unusedMs(source))).toEqual([
      0, 0,
    ]);
  });

  test('when it has gone, no other client stands for it', async () => {
    await start({ defaultViewsMs: 100_000 });
    const end = await use(NEW.slices);
    await use({ ...NEW.slices, labelSelector: '' });
    end();
    expect(proxy.views.kubeProxy.endpoints?.query).toEqual(NEW.slices);
  });

  test.each(['services', 'slices'] as const)(
    'with hidden Services, a view of %s stays open beside its own, because it decides which ones are hidden',
    async (kind) => {
      await start({ defaultViewsMs: 0 }, { cloud: { mode: 'passthrough' } });
      await eventually(() => open().length, 2);
      await use(OLD[kind]);
      expect(openPaths()).toEqual(paths(NEW.slices, NEW.services, OLD[kind]));
    },
  );
});

describe('when the API server rejects a field selector for Services', () => {
  beforeEach(() => rejectFieldSelectors(server));

  test.each([
    ['nothing', []],
    ['slices of all Services', [{ ...NEW.slices, labelSelector: '' }]],
    ['slices', [OLDEST.slices]],
    ['Services', [OLDEST.services]],
    ['slices and Services', [OLDEST.slices, OLDEST.services]],
  ])('endpoints are selected after a client has read %s', async (_, queries) => {
    await start({ defaultViewsMs: queries.length > 0 ? 100_000 : 0 });
    for (const query of queries) await use(query);
    proxy.views.openDefault();
    await eventually(() => readHealth(proxy).causes, []);
    expect(await kept()).toBe(1);
    const services = open().filter(({ resource }) => resource.plural === 'services');
    expect(services).toEqual([OLDEST.services]);
  });

  test('and something has answered with 404 before', async () => {
    const answerAgain = server.refuse(({ path }) => path === '/api/v1/services', 404);
    await start();
    const { view } = proxy.views.acquire(NEW.services);
    await eventually(() => view.refusal?.status?.code, 404);
    answerAgain();
    await eventually(() => readHealth(proxy).causes, []);
    expect(openPaths()).toContain(queryPath(OLDEST.services));
    expect(await kept()).toBe(1);
  });

  test('the next request for it does not open it for policies again', async () => {
    const isForServices = ({ path }: { readonly path: string }) => path === '/api/v1/services';
    const answerAgain = server.hold(isForServices);
    await start();
    await eventually(() => server.requests.some(isForServices), true);
    proxy.views.acquire(NEW.services);
    answerAgain();
    const read = () => openPaths().includes(queryPath(OLDEST.services));
    await eventually(read, true);
    proxy.views.acquire(NEW.services);
    expect(read()).toBe(true);
  });

  // All are requested before the API server has answered.
  test.each<RawSettings>([
    {},
    { cloud: { mode: 'passthrough' } },
    { serviceFilter: { mode: 'FilterIfLabelDoesNotExists', label: 'mesh' } },
  ])('a view that replaces a rejected one may be open: %j', async (settings) => {
    await start({ defaultViewsMs: 100_000 }, settings);
    for (const query of [NEW.services, OLDEST.slices, OLDEST.services]) proxy.views.acquire(query);
    for (const query of [OLDEST.slices, OLDEST.services]) {
      await eventually(() => {
        const { view, release } = proxy.views.acquire(query);
        release();
        return view.started;
      }, true);
    }
    expect(await kept()).toBe(1);
  });
});

// Another query replaced it for the life of the process. Its snapshot grew old, and the next process, which started
// without the API server, read the policies from there.
test('policies are read by the same query after something has answered it with 404 for a while', async () => {
  const isForServices = ({ path }: { readonly path: string }) => path === '/api/v1/services';
  const answerAgain = server.refuse(isForServices, 404);
  await start();
  const asked = () => server.requests.filter(isForServices).length;
  await eventually(() => asked() > 1, true);
  answerAgain();
  await eventually(() => readHealth(proxy).causes, []);
  expect(openPaths()).toEqual(paths(NEW.slices, NEW.services));
  expect(await kept()).toBe(1);
});

test('with policies of headless Services, a client that reads only Services is answered', async () => {
  await start({ defaultViewsMs: 100_000 }, { headless: true });
  await use(NEW.services);
  expect(openPaths()).toContain(queryPath({ ...NEW.services, fieldSelector: '' }));
});

// It came before its endpoints, which wait for the nodes of the site: kube-proxy refused connections to it meanwhile.
test('a new Service is hidden until its first policy is active', async () => {
  server.label(NODE, 'site', 'a');
  await start();
  await eventually(() => open().length, 2);
  const release = server.hold(({ query }) => query.get('labelSelector') === 'site=a');
  const lease = proxy.views.acquire(NEW.services);
  const names = () => [...lease.view.keys()];
  await eventually(names, ['default/web']);
  putService(server, 'db', ['site']);
  await eventually(() => proxy.topology.policies.awaitsFirst('default/db'), true);
  expect(names()).toEqual(['default/web']);
  release();
  await eventually(names, ['default/web', 'default/db']);
  lease.release();
});

// Endpoints of an unknown Service are all shown, and kube-proxy would write them first.
test.each([
  ['of another version', OLD.services],
  ['in JSON', { ...NEW.services, encoding: 'json' } as const],
])('a new Service is hidden in a view %s until its policy is known', async (_, query) => {
  putService(server, 'old', null);
  await start({ defaultViewsMs: 100_000 });
  await use(NEW.services);
  await use(NEW.slices);
  const { view } = proxy.views.acquire(query);
  await eventually(() => [...view.keys()], ['default/old', 'default/web']);
  // The watch that the policies come from is late.
  const release = server.hold(
    ({ path, query, accept }) =>
      path === '/api/v1/services' &&
      query.get('labelSelector') === NEW.services.labelSelector &&
      accept.includes('protobuf'),
  );
  server.cutWatches();
  putService(server, 'db', ['kubernetes.io/hostname']);
  server.delete('services', 'old');
  await eventually(() => [...view.keys()].includes('default/old'), false);
  expect([...view.keys()]).toEqual(['default/web']);
  release();
  await eventually(() => [...view.keys()], ['default/web', 'default/db']);
});

// Any local process can send kube-proxy's queries: each change of the query must not cost the API server a list.
test('clients that alternate between the queries of two kube-proxies cause one list each', async () => {
  await start();
  await eventually(() => open().length, 2);
  (await use(OLD.slices))();
  for (let turn = 0; turn < 5; turn++) {
    for (const query of [NEW.slices, OLD.slices]) (await use(query))();
  }
  const slices = proxy.views.sources.filter(
    ({ query }) => query.resource.plural === 'endpointslices',
  );
  expect(slices.map(({ status }) => status.lists)).toEqual([1, 1]);
});
