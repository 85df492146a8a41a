import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  currentKubeProxyQueries,
  kubeProxyQueries,
} from '../../src/client/api/kube-proxy-queries.ts';
import type { Query } from '../../src/client/api/query.ts';
import { isReady } from '../../src/diagnosis/reading/health.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { propertyRuns } from '../support/property-runs.ts';
import { createSmallCluster, putService } from '../support/wrapper/small-cluster.ts';
import { PATHS, problemOf, problemsOf } from '../support/wrapper/state-fixture.ts';
import { useCluster, useWrapper } from '../support/wrapper/use.ts';
import { startWrapper } from '../support/wrapper/wrapper-fixture.ts';

/*
 * A Pod that is ready lets a roll-out go on. So a process that has started is ready only while the views that the
 * kube-proxy of this node reads, or would read, are complete, in whatever order requests are made and answered.
 */
const NODE = 'edge-1';
const [, SLICES, SERVICES] = currentKubeProxyQueries(NODE) as [Query, Query, Query, Query];

/** Whether a kube-proxy would get all of what it reads now. */
function isServed({ views: { kubeProxy } }: NodeProxy): boolean {
  const { endpoints, services } = kubeProxy;
  return endpoints?.view.started === true && services?.status.synced === true;
}

test('between the start and the first kube-proxy it is not ready, though its Node has been read', async () => {
  const proxy = await useWrapper(await useCluster().listen());
  await eventually(() => proxy.views.ownNodeExists, true);
  expect(problemsOf(proxy)).toEqual([]);
  expect(problemOf(proxy, 'kube-proxy')).toBe(
    'waits for kube-proxy to connect, at most until 30 s after it listens',
  );
});

// Its old process was gone (maxUnavailable), and the API server answered no list of Services: a roll-out went on.
test('while a list of Services hangs it is not ready, whether a kube-proxy has connected or not', async () => {
  const server = useCluster();
  const release = server.hold(({ path }) => path === '/api/v1/services');
  const proxy = await useWrapper(await server.listen());
  await eventually(() => proxy.views.ownNodeExists, true);
  expect(isReady(proxy)).toBe(false);
  proxy.views.acquire(SLICES).release();
  await eventually(() => problemOf(proxy, 'endpointslices'), 'waits for services');
  expect(isReady(proxy)).toBe(false);
  release();
  await eventually(() => isReady(proxy), true);
  expect(isServed(proxy)).toBe(true);
});

test('where no kube-proxy comes it is ready when the default views are complete', async () => {
  const proxy = await useWrapper(await useCluster().listen(), { defaultViewsMs: 0 });
  await eventually(() => isReady(proxy), true);
  expect(isServed(proxy)).toBe(true);
});

const inJson = (query: Query): Query => ({ ...query, encoding: 'json' });

test('while the lists of a kube-proxy that reads JSON hang it is not ready', async () => {
  const server = useCluster();
  const proxy = await useWrapper(await server.listen());
  await eventually(() => proxy.views.ownNodeExists, true);
  for (const query of [SLICES, SERVICES]) {
    const release = server.hold(({ path }) => path.endsWith(`/${query.resource.plural}`));
    proxy.views.acquire(inJson(query));
    await delay(50);
    expect(isReady(proxy)).toBe(false);
    release();
    await eventually(() => isReady(proxy), true);
  }
});

test('while the list of another client hangs it is ready, though the query is that of a kube-proxy', async () => {
  const server = useCluster();
  const proxy = await useWrapper(await server.listen());
  for (const query of [SLICES, SERVICES]) proxy.views.acquire(query);
  await eventually(() => isReady(proxy), true);
  server.hold(() => true);
  const others = [...currentKubeProxyQueries(NODE).map(inJson), { ...SLICES, labelSelector: '' }];
  const views = others.map((query) => proxy.views.acquire(query).view);
  await delay(50);
  expect(views.map(({ started }) => started)).toEqual(others.map(() => false));
  expect(isReady(proxy)).toBe(true);
});

test('a kube-proxy that reads JSON, and for which there is no room, keeps it unready', async () => {
  const proxy = await useWrapper(await useCluster().listen(), { maxViewBytes: 1 });
  const { view } = proxy.views.acquire(inJson(SLICES));
  await eventually(() => view.refusal?.code, 'LimitExceeded');
  await eventually(() => proxy.views.kubeProxy.services?.view.started, true);
  expect(isReady(proxy)).toBe(false);
});

// Nothing opens its views again until it comes back, and a node without it must not be unready for ever.
test('it is still ready when a kube-proxy that reads JSON, whose views nothing keeps, has gone', async () => {
  const proxy = await useWrapper(await useCluster().listen(), { idleViewMs: 1 });
  for (const query of [SLICES, SERVICES]) {
    const { view, release } = proxy.views.acquire({ ...query, encoding: 'json' });
    await eventually(() => view.started, true);
    release();
  }
  await eventually(() => proxy.views.kubeProxy.isOpen, false);
  await eventually(() => isReady(proxy), true);
});

const HELD = [PATHS.nodes, PATHS.services, PATHS.slices].map((path) => path.replace(/\?.*/, ''));
const READ = kubeProxyQueries(NODE).flatMap((query) => [query, inJson(query)]);

/** Turns of the event loop after a step. */
const TURNS = 20;

type Step = { readonly answers: string } | { readonly reads: Query } | 'opens the default';

/** An order in which the held lists are answered, a kube-proxy reads, and the default views are opened. */
const orders = fc
  .tuple(
    fc.shuffledSubarray(HELD, { minLength: HELD.length }),
    fc.array(
      fc.record({
        at: fc.nat(HELD.length),
        what: fc.oneof(fc.constant('opens the default' as const), fc.constantFrom(...READ)),
      }),
      { maxLength: 4 },
    ),
  )
  .map(([answered, others]) => {
    const steps: Step[] = answered.map((answers) => ({ answers }));
    for (const { at, what } of others) {
      steps.splice(at, 0, typeof what === 'string' ? what : { reads: what });
    }
    return steps;
  });

async function runInOrder(steps: readonly Step[]): Promise<void> {
  const server = createSmallCluster();
  putService(server, 'web', ['kubernetes.io/hostname']);
  const hold = (path: string) => server.hold((request) => request.path === path);
  const releases = new Map(HELD.map((path) => [path, hold(path)]));
  const proxy = await startWrapper(await server.listen());
  const check = (): void => expect(isReady(proxy) && !isServed(proxy)).toBe(false);
  try {
    for (const step of steps) {
      if (step === 'opens the default') proxy.views.openDefault();
      else if ('reads' in step) proxy.views.acquire(step.reads);
      else releases.get(step.answers)?.();
      for (let turn = 0; turn < TURNS; turn++) {
        check();
        await new Promise(setImmediate);
      }
    }
    proxy.views.openDefault();
    await eventually(() => isReady(proxy), true);
    check();
  } finally {
    await proxy.close();
    await server.close();
  }
}

test('it is never ready without complete views, whatever is read and answered first', async () => {
  await fc.assert(fc.asyncProperty(orders, runInOrder), { numRuns: propertyRuns(100) });
});
