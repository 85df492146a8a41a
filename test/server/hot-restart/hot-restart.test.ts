import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { CODECS } from '../../../src/client/api/codecs.ts';
import { currentKubeProxyQueries } from '../../../src/client/api/kube-proxy-queries.ts';
import type { Query } from '../../../src/client/api/query.ts';
import { listeningSockets as listenersOf } from '../../../src/client/system/proc-net-tcp.ts';
import { WrapperError } from '../../../src/errors.ts';
import { SERVICES } from '../../../src/filter/objects/resource.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { View } from '../../../src/filter/view/view.ts';
import {
  waitForNextProcess,
  waitUntilReadyToListen,
} from '../../../src/server/hot-restart/hot-restart.ts';
import { listeningSockets } from '../../support/http/listening-sockets.ts';
import { spawnMortal } from '../../support/process/mortal-child.ts';
import { recordingLogger } from '../../support/recording-logger.ts';

/*
 * The kernel lets two users have one port if the socket of one is for IPv6 alone (IPV6_V6ONLY). /proc/net/tcp6 does not
 * have that option, so such a socket looks as if it listened at all addresses.
 */
const NOBODY = 65534;
/** Becomes another user, and listens at a port with a socket for IPv6 alone. */
const NEIGHBOUR = `process.setgid(${NOBODY}); process.setuid(${NOBODY});
require('node:net').createServer().listen({ host: '::', port: +process.argv[1], ipv6Only: true }, () => console.log('up'));`;

/** Only root can become another user. */
const asRoot = process.geteuid?.() === 0 ? describe : describe.skip;
const [QUERY] = currentKubeProxyQueries('edge-1') as [Query];
const isNeeded = (query: Query): boolean => query === QUERY;
const VIEW_OPTIONS = {
  resource: SERVICES,
  codec: CODECS.json,
  versions: new VersionAllocator(0),
  window: { entries: 10, bytes: 10 },
};
const { listen, servers } = listeningSockets();
const ended = new AbortController();
let neighbour: ReturnType<typeof spawnMortal> | undefined;

afterEach(() => {
  ended.abort();
  neighbour?.kill('SIGKILL');
});

async function startNeighbour(port: number): Promise<void> {
  const args = ['-e', NEIGHBOUR, String(port)];
  neighbour = spawnMortal(process.execPath, args, { stdout: 'pipe' });
  if (neighbour.stdout) await once(neighbour.stdout, 'data');
}

asRoot('a socket of another user for IPv6 alone on the same port', () => {
  test('is not the next process, and does not keep this one from listening', async () => {
    const host = '127.0.0.1';
    const port = await listen(host);
    await startNeighbour(port);
    expect(listenersOf({ host, port }).map(({ user }) => user)).toContain(NOBODY);
    const addresses = [{ host, port, reusePort: true }];
    const waiting = waitForNextProcess(addresses, 60_000, ended.signal).then(() => 'ended');
    const now = new Promise((resolve) => setImmediate(resolve, 'waits'));
    expect(await Promise.race([waiting, now])).toBe('waits');

    servers.splice(0)[0]?.close();
    const { logger, lines } = recordingLogger();
    const acquire = () => {
      throw new Error('it waits for a view');
    };
    const { signal } = new AbortController();
    await waitUntilReadyToListen({
      addresses,
      queries: [QUERY],
      isNeeded,
      acquire,
      signal,
      logger,
    });
    expect(lines).toEqual([]);
  });
});

// It was never complete in the last process either.
test('a view that the API server refuses does not keep the next process from listening', async () => {
  const host = '127.0.0.1';
  const addresses = [{ host, port: await listen(host), reusePort: true }];
  const view = new View(VIEW_OPTIONS);
  view.refuse(new WrapperError('Forbidden', 'no'));
  const { signal } = new AbortController();
  const { logger } = recordingLogger();
  let released = 0;
  const acquire = () => ({ view, release: () => void released++ });
  await waitUntilReadyToListen({ addresses, queries: [QUERY], isNeeded, acquire, signal, logger });
  expect(released).toBe(1);
});

// Else a query that the API server does not answer would keep each next process waiting.
test('it listens when the needed views are complete, whatever other clients read', async () => {
  const host = '127.0.0.1';
  const addresses = [{ host, port: await listen(host), reusePort: true }];
  const views = new Map<Query, View>();
  const acquire = (query: Query) => {
    const view = new View(VIEW_OPTIONS);
    views.set(query, view);
    return { view, release: () => views.delete(query) };
  };
  const { signal } = new AbortController();
  const { logger } = recordingLogger();
  const queries = [QUERY, { ...QUERY, namespace: 'shop' }];
  const waiting = waitUntilReadyToListen({
    addresses,
    queries,
    isNeeded,
    acquire,
    signal,
    logger,
  }).then(() => 'ended');
  const soon = delay(120, 'waits');
  expect(await Promise.race([waiting, soon])).toBe('waits');
  expect([...views.keys()]).toEqual(queries);
  views.get(QUERY)?.start([]);
  expect(await waiting).toBe('ended');
  expect(views.size).toBe(0);
});
