import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { DROP_OLD, HOLD, type UrlFront } from '../../../harness/network/tcp-front.ts';
import { STREAMING_LIST } from '../../../harness/streaming-list.ts';
import type { NodeProxy, NodeProxyOptions } from '../../../src/server/node-proxy.ts';
import { addressesIn } from '../../support/codec/addresses-in.ts';
import { eventually } from '../../support/eventually.ts';
import type { WatchRecorder } from '../../support/guarantees/watch-recorder.ts';
import { PROTOCOLS, type Protocol } from '../../support/http/http-server.ts';
import { type LogLine, recordingLogger } from '../../support/recording-logger.ts';
import { connected } from '../../support/wrapper/outage.ts';
import { putService, putSlice, servingTls } from '../../support/wrapper/small-cluster.ts';
import { PATHS, problemsOf, useState } from '../../support/wrapper/state-fixture.ts';
import { useCluster, useFront, useWatch, useWrapper } from '../../support/wrapper/use.ts';

let server: ApiServer;
let first: UrlFront;
let second: UrlFront;
let proxy: NodeProxy;
let watch: WatchRecorder;
let lines: readonly LogLine[];

/** Starts the API server, with one Service, and the ways to it. */
async function setUp(protocol: Protocol): Promise<void> {
  server = useCluster({ tls: servingTls(protocol === 'HTTP/1.1') });
  putService(server, 'web', ['kubernetes.io/hostname']);
  putSlice(server, 'web-a', 'web', [{ ip: '10.0.0.1', node: 'edge-1' }]);
  const url = await server.listen();
  [first, second] = [await useFront(url), await useFront(url)];
}

afterEach(() => void jest.restoreAllMocks());

/** Starts the wrapper behind them and follows the slices. */
async function start(options: Partial<NodeProxyOptions> = {}): Promise<NodeProxy> {
  const recorded = recordingLogger();
  lines = recorded.lines;
  const { logger } = recorded;
  const servers = [new URL(second.url)];
  proxy = await useWrapper(first.url, { servers, logger, ...options });
  watch = await useWatch(proxy.url + PATHS.slices, STREAMING_LIST);
  await watch.until(2);
  await connected(proxy);
  return proxy;
}

function put(...hosts: number[]): void {
  putSlice(
    server,
    'web-a',
    'web',
    hosts.map((host) => ({ ip: `10.0.0.${host}`, node: 'edge-1' })),
  );
}

/** The addresses that the client has, from its events. */
function seen(): string[] {
  const last = watch.events.findLast(({ type }) => type === 'ADDED' || type === 'MODIFIED');
  if (last === undefined || last.type === 'ERROR') return [];
  return addressesIn(last.object);
}

const inUse = () => proxy.upstream.failover.servers[0]?.port;
const portOf = ({ port }: UrlFront) => String(port);
const REFUSE = { kind: 'refuse' } as const;

describe.each(PROTOCOLS)('over %s, with two API servers', (protocol) => {
  beforeEach(async () => await setUp(protocol));

  test('the second is used, and nothing is lost, when the first refuses connections', async () => {
    await start();
    expect(inUse()).toBe(portOf(first));
    await first.begin(REFUSE);
    put(1, 2);
    await eventually(seen, ['10.0.0.1', '10.0.0.2']);
    await eventually(inUse, portOf(second));
    expect(problemsOf(proxy)).toEqual([]);
    expect(watch.names()).toEqual(['ADDED web-a', 'BOOKMARK', 'MODIFIED web-a']);
    expect(lines.some(({ msg, level }) => level === 40 && msg.includes('another API server'))).toBe(
      true,
    );
  });

  test('open watches move back to the first when it works again, and nothing is lost', async () => {
    await start({ returnMs: 100 });
    const outage = await first.begin(REFUSE);
    await eventually(inUse, portOf(second));
    await connected(proxy);
    await outage.end();
    await eventually(inUse, portOf(first));
    put(1, 2);
    await eventually(seen, ['10.0.0.1', '10.0.0.2']);
    await eventually(() => second.open, 0);
    await connected(proxy);
    await second.begin(DROP_OLD);
    put(1, 3);
    await eventually(seen, ['10.0.0.1', '10.0.0.3']);
    expect(watch.names()).toEqual(['ADDED web-a', 'BOOKMARK', ...Array(2).fill('MODIFIED web-a')]);
  });

  test('a start while the first is cut off shows the state of the second, not the snapshot', async () => {
    const state = useState();
    await (await start({ state })).close();
    watch.close();
    put(1, 7);
    await first.begin(HOLD);
    const started = performance.now();
    await start({ state });
    expect(seen()).toEqual(['10.0.0.1', '10.0.0.7']);
    // A server that is silent has 10 s if there is no other.
    expect(performance.now() - started).toBeLessThan(9_000);
    expect(lines.some(({ msg }) => msg.includes('the snapshot on disk is used'))).toBe(false);
    expect(inUse()).toBe(portOf(second));
  });
});

describe.each(PROTOCOLS)('over %s, with one API server', (protocol) => {
  beforeEach(async () => await setUp(protocol));

  const alone = { servers: [] };

  test.each([1, 7, 40, 150])(
    'a connection reset %i bytes into what follows loses nothing',
    async (bytes) => {
      await start(alone);
      const cuts = await first.begin({
        kind: 'cutAfter',
        bytes: [bytes, bytes + 1],
        ending: 'reset',
      });
      for (let host = 2; host < 20; host++) put(1, host);
      await eventually(() => cuts.hits() > 0, true);
      await cuts.end();
      await eventually(seen, ['10.0.0.1', '10.0.0.19']);
      const added = watch.names().filter((name) => name !== 'MODIFIED web-a');
      expect(added).toEqual(['ADDED web-a', 'BOOKMARK']);
    },
  );

  test('a clock that jumps changes nothing', async () => {
    const of = await start(alone);
    const now = Date.now();
    jest.spyOn(Date, 'now').mockReturnValue(now + 86_400_000);
    put(1, 2);
    await eventually(seen, ['10.0.0.1', '10.0.0.2']);
    jest.spyOn(Date, 'now').mockReturnValue(now - 86_400_000);
    await first.begin(REFUSE);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(problemsOf(of)).toEqual([]);
    for (const { status } of of.views.sources) expect(status.staleMs).toBeLessThan(10_000);
  });
});

// Over HTTP/1.1 TCP keep-alive finds a dead path, and the limit of a watch anything else.
describe('over HTTP/2, a silent connection', () => {
  beforeEach(async () => await setUp('HTTP/2'));

  test('makes the next server be used in time if its own answers no new one', async () => {
    await start({ quietMs: 300 });
    await first.begin(DROP_OLD);
    await first.begin({ kind: 'refuse', keepsOpen: true });
    put(1, 2);
    await eventually(seen, ['10.0.0.1', '10.0.0.2']);
    expect(inUse()).toBe(portOf(second));
    expect(lines.some(({ msg }) => msg.includes('has fallen silent'))).toBe(true);
  });
});
