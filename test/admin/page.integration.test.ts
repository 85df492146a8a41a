import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { ApiServer } from '../../embedded/api-server.ts';
import { type Admin, startAdmin } from '../../src/admin/admin.ts';
import type { NodeState, PageEvents, RowsEvent } from '../../src/admin/page/page-data.ts';
import { DEFAULT_LISTENER_LIMITS } from '../../src/proxy/http/listener-limits.ts';
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
  admin = await startAdmin({ address, listenerLimits: DEFAULT_LISTENER_LIMITS, proxy, logger });
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

type PageEvent = {
  [Name in keyof PageEvents]: { name: Name; data: PageEvents[Name] };
}[keyof PageEvents];

/** Opens the stream of a page and records its events. */
async function openPage(): Promise<{ status: number; events: PageEvent[]; ended: Promise<void> }> {
  const response = await fetch(`${admin.url}/events`, { signal: controller.current.signal });
  const events: PageEvent[] = [];
  const read = async (): Promise<void> => {
    let text = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
        if (data !== undefined) events.push({ name, data: JSON.parse(data) } as PageEvent);
      }
    }
  };
  return { status: response.status, events, ended: read().catch(() => {}) };
}

function rowsIn(events: readonly PageEvent[]): RowsEvent[] {
  return events.flatMap(({ name, data }) => (name === 'rows' ? [data] : []));
}

/** Warnings in the latest row of a Service. */
function warningsIn(events: readonly PageEvent[], service: string) {
  const rows = rowsIn(events).flatMap((event) => event.rows);
  return rows.findLast(([name]) => name === service)?.[9];
}

function stateIn(events: readonly PageEvent[]): NodeState | undefined {
  return events.flatMap(({ name, data }) => (name === 'state' ? [data] : [])).at(-1);
}

describe('/events', () => {
  test('sends the complete state, then only changes', async () => {
    await watchSlices();
    const { events } = await openPage();
    await eventually(() => rowsIn(events).at(-1)?.left, 0);
    const row = ['default/web', 'filtered', 0, 'annotation', ['site', '*'], ['site'], 1, 2];
    expect(rowsIn(events)[0]?.rows[0]?.slice(0, 8)).toEqual(row);
    expect(stateIn(events)).toMatchObject({
      node: 'edge-1',
      keys: [{ key: 'site', neighbours: ['edge-2'] }, { key: '*' }],
      watches: 1,
    });
    const before = rowsIn(events).length;
    putService(server, 'other', null);
    await eventually(() => rowsIn(events).at(-1)?.rows[0]?.[0], 'default/other');
    server.delete('services', 'other');
    await eventually(() => rowsIn(events).at(-1)?.gone, ['default/other']);
    const later = rowsIn(events)
      .slice(before)
      .flatMap(({ rows }) => rows.map(([name]) => name));
    expect(later).not.toContain('default/web');
    server.label('edge-1', 'site', 'b');
    await eventually(
      () =>
        events.find(
          ({ name, data }) => name === 'decisions' && JSON.stringify(data).includes('own-node'),
        ) !== undefined,
      true,
    );
  });

  test('the page has rows before kube-proxy connects, and says that nobody watches', async () => {
    const { events } = await openPage();
    await eventually(() => stateIn(events)?.problem, undefined);
    await eventually(() => rowsIn(events).at(-1)?.rows.length, 1);
    expect(stateIn(events)?.watches).toBe(0);
  });

  // With a page open during the start, the list of Services was once read only while it was still empty.
  test('a page that opens before the Services are listed receives those without endpoints too', async () => {
    putService(server, 'empty', ['site', '*']);
    await proxy.close();
    await admin.close();
    const release = server.hold(({ path }) => path.endsWith('/services'));
    proxy = await startWrapper(upstream, { readyWaitMs: 60_000 });
    const logger = pino({ level: 'silent' });
    const address = { host: '127.0.0.1', port: 0 };
    admin = await startAdmin({ address, listenerLimits: DEFAULT_LISTENER_LIMITS, proxy, logger });
    const { events } = await openPage();
    const watching = watchSlices();
    await eventually(() => stateIn(events)?.problem?.includes('not complete yet'), true);
    release();
    await watching;
    const names = () => rowsIn(events).flatMap(({ rows }) => rows.map(([name]) => name));
    await eventually(() => names().sort(), ['default/empty', 'default/web']);
    await eventually(() => rowsIn(events).at(-1)?.left, 0);
  });

  // Nodes without endpoints of a Service cause no decision about it, but their absence causes a warning.
  test('a warning disappears with its reason, even without a new decision', async () => {
    putService(server, 'backend', ['kubernetes.io/hostname', 'kube-proxy-wrapper.io/cloud']);
    for (const name of ['edge-1', 'edge-2', 'edge-3']) {
      server.label(name, 'node-role.kubernetes.io/edge', '');
    }
    await watchSlices();
    const { events } = await openPage();
    const warnings = () => warningsIn(events, 'default/backend');
    await eventually(warnings, ['key-without-nodes']);
    putNode(server, 'cloud-1', {});
    await eventually(warnings, []);
  });

  test('change-pending disappears when the change arrives, even without a new decision', async () => {
    putService(server, 'far', ['site', '*']);
    putSlice(server, 'far-1', 'far', [{ ip: '10.0.0.8', node: 'edge-8' }]);
    await watchSlices();
    const { events } = await openPage();
    const warnings = () => warningsIn(events, 'default/far');
    await eventually(warnings, []);
    const release = server.hold(({ query }) => query.get('labelSelector') === 'site=b');
    server.label('edge-1', 'site', 'b');
    await eventually(() => server.requests.at(-1)?.query.get('labelSelector'), 'site=b');
    putSlice(server, 'far-1', 'far', [{ ip: '10.0.0.9', node: 'edge-9' }]);
    await eventually(warnings, ['change-pending']);
    release();
    await eventually(warnings, []);
  });

  // After a restart the page once continued to show decisions of the previous process.
  test('before the first decision changes, the page receives one empty list of decisions', async () => {
    const { events } = await openPage();
    const decisions = () =>
      events.filter(({ name }) => name === 'decisions').map(({ data }) => data);
    await eventually(decisions, [{ view: 1, count: 0, decisions: [] }]);
    await delay(500);
    expect(decisions()).toHaveLength(1);
  });

  test('8 pages are served; the next one only after one is closed', async () => {
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
