import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { type Query, queryPath } from '../../../src/client/api/query.ts';
import { ENDPOINT_SLICES } from '../../../src/filter/objects/resource.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { closedLater } from '../../support/closed-later.ts';
import { eventually } from '../../support/eventually.ts';
import { putService, putSlice } from '../../support/wrapper/small-cluster.ts';
import { checksOf, metricsOf, problemsOf } from '../../support/wrapper/state-fixture.ts';
import { useCluster, useWrapper } from '../../support/wrapper/use.ts';

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const PROTOBUF = { accept: 'application/vnd.kubernetes.protobuf' };
const STREAM =
  'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';

let server: ApiServer;
let proxy: NodeProxy;

beforeEach(() => {
  server = useCluster();
  for (let n = 0; n < 40; n++) {
    putService(server, `s${n}`, null);
    putSlice(
      server,
      `s${n}-a`,
      `s${n}`,
      Array.from({ length: 20 }, (_, ip) => ({ ip: `10.0.${n}.${ip}`, node: 'edge-1' })),
    );
  }
});

async function start(options: { maxViews?: number; maxViewBytes?: number }): Promise<void> {
  proxy = await useWrapper(await server.listen(), options);
}

const pathOf = (query: Query) => {
  const path = queryPath(query);
  return `${path}${path.includes('?') ? '&' : '?'}`;
};

/** Opens a watch and leaves it open; returns the response. */
async function hold(path: string, headers = {}): Promise<Response> {
  const controller = new AbortController();
  closedLater({ close: () => controller.abort() });
  return await fetch(`${proxy.url}${path}${STREAM}`, { headers, signal: controller.signal });
}

const others = (n: number): Query => ({
  resource: ENDPOINT_SLICES,
  namespace: '',
  labelSelector: `x!=${n}`,
  fieldSelector: '',
  encoding: 'protobuf',
});
const lists = () => server.requests.filter(({ path }) => path === SLICES).length;

describe('a view without room', () => {
  test('gets 503 with the setting and the used amount; readyz and metrics report it, and the node is ready', async () => {
    await start({ maxViews: 4, maxViewBytes: 50_000 });
    const answer = await hold(pathOf(others(1)));
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('30');
    const status = (await answer.json()) as { reason: string; message: string };
    expect(status.reason).toBe('ServiceUnavailable');
    expect(status.message).toMatch(/no room for this view: .* hold .* of 0.1 MB.*\(maxViewBytes\)/);
    await eventually(() => problemsOf(proxy), []);
    const remarks = checksOf(proxy).filter(({ remark }) => remark?.includes('maxViewBytes'));
    expect(remarks.map(({ name }) => name)).toEqual(['view-budget', expect.stringContaining('x')]);
    const text = await metricsOf(proxy);
    expect(proxy.views.budget.used.bytes).toBe(0);
    expect(text).toMatch(/view_budget_refusals_total{reason="bytes"} 1\n/);
    // However often it is requested, the API server is not.
    const before = lists();
    for (let n = 0; n < 20; n++) expect((await hold(pathOf(others(1)))).status).toBe(503);
    expect(lists()).toBe(before);
    expect(proxy.views.budget.refusals.bytes).toBe(1);
    // The version check may be one more list.
    for (let n = 0; n < 20; n++) expect((await hold(pathOf(others(n)))).status).toBe(503);
    expect(lists() - before).toBeLessThanOrEqual(4);
  });

  test('is refused once and holds nothing, also when its list has room but its objects do not', async () => {
    await start({ maxViewBytes: 150_000 });
    expect((await hold(pathOf(others(1)), PROTOBUF)).status).toBe(503);
    const { refusals, used } = proxy.views.budget;
    expect([refusals.bytes, used]).toEqual([1, { views: 1, bytes: 0 }]);
  });

  test.each([
    ['is larger than the budget', 1_000],
    ['has room, but its objects do not', 120],
  ])('for a new list that %s keeps its state, and reports it', async (_, more) => {
    await start({ maxViewBytes: 600_000 });
    const json = { accept: 'application/json' };
    expect((await hold(pathOf(others(1)), json)).status).toBe(200);
    const thaw = server.freezeWatches();
    for (let n = 0; n < more; n++) {
      putSlice(server, `more-${n}`, 's1', [{ ip: `10.1.${n >> 8}.${n & 255}`, node: 'edge-1' }]);
    }
    server.compact();
    server.cutWatches();
    thaw();
    const { budget } = proxy.views;
    await eventually(() => budget.refusals.bytes > 0, true);
    const answer = await fetch(`${proxy.url}${pathOf(others(1))}`, { headers: json });
    expect(answer.status).toBe(200);
    expect(((await answer.json()) as { items: unknown[] }).items).toHaveLength(40);
    const check = checksOf(proxy).find(({ name }) => name.startsWith('view json'));
    expect(check?.problem).toBeUndefined();
    expect(check).toMatchObject({
      degraded: 'its clients see the last state that had room',
      detail: expect.stringContaining('maxViewBytes'),
    });
    expect(budget.used.bytes).toBeGreaterThan(0);
  });

  test('that grew too large ends its watches with an ERROR event and frees its memory', async () => {
    await start({ maxViewBytes: 600_000 });
    const answer = await hold(pathOf(others(1)), { accept: 'application/json' });
    expect(answer.status).toBe(200);
    expect(proxy.views.budget.used.bytes).toBeGreaterThan(50_000);
    const text = answer.text();
    for (let n = 0; n < 200; n++) {
      putSlice(
        server,
        `more-${n}`,
        's1',
        Array.from({ length: 20 }, (_, ip) => ({ ip: `10.1.${n}.${ip}`, node: 'edge-1' })),
      );
    }
    expect((await text).trim().split('\n').at(-1)).toMatch(/"type":"ERROR".*maxViewBytes/);
    expect(proxy.views.budget.used.bytes).toBe(0);
    expect((await hold(pathOf(others(1)))).status).toBe(503);
  });
});
