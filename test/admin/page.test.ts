import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { ApiServer } from '../../embedded/api-server.ts';
import { type Admin, startAdmin } from '../../src/admin/admin.ts';
import type { NodeState, PageEvents, RowsEvent } from '../../src/admin/page/page-data.ts';
import { DEFAULT_LISTENER_LIMITS } from '../../src/proxy/http/http-errors.ts';
import type { NodeProxy } from '../../src/proxy/node-proxy.ts';
import { eventually } from '../support/eventually.ts';
import {
  recordWatch,
  STREAMING_LIST,
  type WatchRecorder,
} from '../support/guarantees/watch-recorder.ts';
import {
  createSmallCluster,
  putNode,
  putService,
  putSlice,
} from '../support/wrapper/small-cluster.ts';
import { startWrapper } from '../support/wrapper/wrapper-fixture.ts';

let server: ApiServer;
let upstream: string;
let proxy: NodeProxy;
let admin: Admin;
let watch: WatchRecorder | undefined;
/** Ends the streams of the pages. */
const controller = { current: new AbortController() };

beforeEach(async () => {
  controller.current = new AbortController();
  server = createSmallCluster();
  putService(server, 'web', ['site', '*']);
  putSlice(server, 'web-1', 'web', [
    { ip: '10.0.0.2', node: 'edge-2' },
    { ip: '10.0.0.3', node: 'edge-3' },
  ]);
  upstream = await server.listen();
  proxy = await startWrapper(upstream);
  const logger = pino({ level: 'silent' });
  const address = { host: '127.0.0.1', port: 0 };
  admin = await startAdmin({ address, bounds: DEFAULT_LISTENER_LIMITS, proxy, logger });
});

afterEach(async () => {
  controller.current.abort();
  await watch?.close();
  watch = undefined;
  await admin.close();
  await proxy.close();
  await server.close();
});

async function watchSlices(): Promise<void> {
  watch = await recordWatch(`${proxy.url}/apis/discovery.k8s.io/v1/endpointslices`, STREAMING_LIST);
  await watch.until(1);
}

type Told = {
  [Name in keyof PageEvents]: { name: Name; data: PageEvents[Name] };
}[keyof PageEvents];

/** Opens the stream of a page and keeps what it is told. */
async function openPage(): Promise<{ status: number; told: Told[]; ended: Promise<void> }> {
  const response = await fetch(`${admin.url}/events`, { signal: controller.current.signal });
  const told: Told[] = [];
  const read = async (): Promise<void> => {
    let text = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
        if (data !== undefined) told.push({ name, data: JSON.parse(data) } as Told);
      }
    }
  };
  return { status: response.status, told, ended: read().catch(() => {}) };
}

function rowsIn(told: readonly Told[]): RowsEvent[] {
  return told.flatMap(({ name, data }) => (name === 'rows' ? [data] : []));
}

/** What the latest row of a Service warns about. */
function warningsIn(told: readonly Told[], service: string) {
  const rows = rowsIn(told).flatMap((event) => event.rows);
  return rows.findLast(([name]) => name === service)?.[9];
}

function stateIn(told: readonly Told[]): NodeState | undefined {
  return told.flatMap(({ name, data }) => (name === 'state' ? [data] : [])).at(-1);
}

describe('/events', () => {
  test('tells all there is, then only what changes', async () => {
    await watchSlices();
    const { told } = await openPage();
    await eventually(() => rowsIn(told).at(-1)?.left, 0);
    const row = ['default/web', 'filtered', 0, 'annotation', ['site', '*'], ['site'], 1, 2];
    expect(rowsIn(told)[0]?.rows[0]?.slice(0, 8)).toEqual(row);
    expect(stateIn(told)).toMatchObject({
      node: 'edge-1',
      keys: [{ key: 'site', neighbours: ['edge-2'] }, { key: '*' }],
      watches: 1,
    });
    const before = rowsIn(told).length;
    putService(server, 'other', null);
    await eventually(() => rowsIn(told).at(-1)?.rows[0]?.[0], 'default/other');
    server.delete('services', 'other');
    await eventually(() => rowsIn(told).at(-1)?.gone, ['default/other']);
    const later = rowsIn(told)
      .slice(before)
      .flatMap(({ rows }) => rows.map(([name]) => name));
    expect(later).not.toContain('default/web');
    server.label('edge-1', 'site', 'b');
    await eventually(
      () =>
        told.find(
          ({ name, data }) => name === 'decisions' && JSON.stringify(data).includes('own-node'),
        ) !== undefined,
      true,
    );
  });

  test('before kube-proxy has come it says what to do, and goes on when it has', async () => {
    const { told } = await openPage();
    await eventually(() => stateIn(told)?.problem?.includes(`server: ${proxy.url}`), true);
    await watchSlices();
    await eventually(() => stateIn(told)?.problem, undefined);
    await eventually(() => rowsIn(told).at(-1)?.rows.length, 1);
  });

  // A tab that is open while the wrapper starts: the list of Services was looked at once, when it was still empty.
  test('a page that was there before the Services were known has those without endpoints too', async () => {
    putService(server, 'empty', ['site', '*']);
    await proxy.close();
    await admin.close();
    const release = server.hold(({ path }) => path.endsWith('/services'));
    proxy = await startWrapper(upstream, { readyWaitMs: 60_000 });
    const logger = pino({ level: 'silent' });
    const address = { host: '127.0.0.1', port: 0 };
    admin = await startAdmin({ address, bounds: DEFAULT_LISTENER_LIMITS, proxy, logger });
    const { told } = await openPage();
    const watching = watchSlices();
    await eventually(() => stateIn(told)?.problem?.includes('not complete yet'), true);
    release();
    await watching;
    const names = () => rowsIn(told).flatMap(({ rows }) => rows.map(([name]) => name));
    await eventually(() => names().sort(), ['default/empty', 'default/web']);
    await eventually(() => rowsIn(told).at(-1)?.left, 0);
  });

  // Nodes on which a Service has no endpoint decide nothing about it, but it was warned about their absence.
  test('a warning goes with its reason, though nothing is decided anew', async () => {
    putService(server, 'backend', ['kubernetes.io/hostname', 'kube-proxy-wrapper.io/cloud']);
    for (const name of ['edge-1', 'edge-2', 'edge-3']) {
      server.label(name, 'node-role.kubernetes.io/edge', '');
    }
    await watchSlices();
    const { told } = await openPage();
    const warnings = () => warningsIn(told, 'default/backend');
    await eventually(warnings, ['key-without-nodes']);
    putNode(server, 'cloud-1', {});
    await eventually(warnings, []);
  });

  test('that a change is pending is told only until it has come, though that decides nothing here', async () => {
    putService(server, 'far', ['site', '*']);
    putSlice(server, 'far-1', 'far', [{ ip: '10.0.0.8', node: 'edge-8' }]);
    await watchSlices();
    const { told } = await openPage();
    const warnings = () => warningsIn(told, 'default/far');
    await eventually(warnings, []);
    const release = server.hold(({ query }) => query.get('labelSelector') === 'site=b');
    server.label('edge-1', 'site', 'b');
    await eventually(() => server.requests.at(-1)?.query.get('labelSelector'), 'site=b');
    putSlice(server, 'far-1', 'far', [{ ip: '10.0.0.9', node: 'edge-9' }]);
    await eventually(warnings, ['change-pending']);
    release();
    await eventually(warnings, []);
  });

  // After a restart the page went on to show the decisions of the process before.
  test('while there is no view, the page is told once that there are no decisions', async () => {
    const { told } = await openPage();
    const decisions = () => told.filter(({ name }) => name === 'decisions').map(({ data }) => data);
    await eventually(decisions, [{ view: 0, count: 0, decisions: [] }]);
    await delay(500);
    expect(decisions()).toHaveLength(1);
    await watchSlices();
    await eventually(() => decisions().at(-1), { view: 1, count: 0, decisions: [] });
  });

  test('8 pages are served, the next one is not, until one is closed', async () => {
    const pages = await Promise.all(Array.from({ length: 8 }, openPage));
    expect(pages.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    expect((await openPage()).status).toBe(503);
    controller.current.abort();
    await Promise.all(pages.map(({ ended }) => ended));
    controller.current = new AbortController();
    await eventually(async () => (await openPage()).status, 200);
  });

  test('a stream ends with the admin port', async () => {
    const { ended } = await openPage();
    const closed = admin.close();
    await ended;
    await closed;
  });
});
