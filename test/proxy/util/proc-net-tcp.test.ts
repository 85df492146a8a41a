import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { currentKubeProxyQueries } from '../../../src/proxy/api/kube-proxy-queries.ts';
import { parseQueries, serializeQueries } from '../../../src/proxy/api/query-json.ts';
import { warnOfSharedPort } from '../../../src/proxy/hot-restart/hot-restart.ts';
import { countListeners } from '../../../src/proxy/util/proc-net-tcp.ts';
import { loopbackHosts } from '../../support/http/loopback-hosts.ts';
import { recordingLogger } from '../../support/wrapper/wrapper-fixture.ts';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listen(host: string, port = 0): Promise<number> {
  const server = createServer();
  servers.push(server);
  server.listen({ host, port, reusePort: port !== 0 });
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

describe('countListeners()', () => {
  test.each(loopbackHosts())('knows who listens at %s', async (host) => {
    const port = await listen(host);
    expect(countListeners({ host, port })).toBe(1);
    servers.splice(0)[0]?.close();
    expect(countListeners({ host, port })).toBe(0);
  });

  test('counts each that shares a port', async () => {
    const first = await listen('127.0.0.1');
    servers.splice(0)[0]?.close();
    await listen('127.0.0.1', first);
    await listen('127.0.0.1', first);
    expect(countListeners({ host: '127.0.0.1', port: first })).toBe(2);
  });

  test('another address is another matter, all addresses are not', async () => {
    const port = await listen('127.0.0.2');
    expect(countListeners({ host: '127.0.0.1', port })).toBe(0);
    const all = await listen('0.0.0.0');
    expect(countListeners({ host: '127.0.0.1', port: all })).toBe(1);
  });
});

describe('warnOfRival()', () => {
  const ended = new AbortController();
  afterAll(() => ended.abort());

  test('warns once of another process that goes on listening at the same address', async () => {
    const port = await listen('127.0.0.1');
    servers.splice(0)[0]?.close();
    await listen('127.0.0.1', port);
    const { logger, lines } = recordingLogger();
    const addresses = [{ host: '127.0.0.1', port }];
    const watching = warnOfSharedPort({ addresses, logger, signal: ended.signal, pollMs: 100 });
    // Successors that listen beside their predecessors for a moment are none, however many come in a year.
    for (let updates = 0; updates < 3; updates++) {
      await listen('127.0.0.1', port);
      await delay(250);
      servers.pop()?.close();
      await delay(250);
    }
    expect(lines).toEqual([]);
    await listen('127.0.0.1', port);
    await watching;
    expect(lines).toMatchObject([{ level: 40, listen: [`127.0.0.1:${port}`] }]);
  });

  test('says nothing when the process ends', async () => {
    const { logger, lines } = recordingLogger();
    const own = new AbortController();
    const watching = warnOfSharedPort({ addresses: [], logger, signal: own.signal });
    own.abort();
    await watching;
    expect(lines).toEqual([]);
  });
});

describe('what a successor is told', () => {
  const [, slices, , cidrs] = JSON.parse(serializeQueries(currentKubeProxyQueries('edge-1')));

  test('reads as it was written', () => {
    const queries = currentKubeProxyQueries('edge-1');
    expect(queries).toHaveLength(4);
    expect(parseQueries(serializeQueries(queries), 'edge-1')).toEqual(queries);
  });

  test.each([
    ['no JSON', '<html>'],
    ['no list', '{}'],
    ['entries that are none', '[null, 1, {}]'],
    [
      'what is no view',
      '[{"group":"","plural":"secrets","namespace":"","labelSelector":"","fieldSelector":"","encoding":"json"}]',
    ],
    ['another node', serializeQueries(currentKubeProxyQueries('edge-2').slice(0, 1))],
    [
      'an unknown encoding',
      '[{"group":"","plural":"services","namespace":"","labelSelector":"","fieldSelector":"","encoding":"cbor"}]',
    ],
    ...[
      ['namespace', '../kube-system'],
      ['namespace', 'a/b'],
      ['namespace', 'x'.repeat(64)],
      ['namespace', 7],
      ['labelSelector', 'x'.repeat(1001)],
      ['labelSelector', 'a=b\r\nx'],
      ['fieldSelector', 'metadata.name=\u202e'],
      ['fieldSelector', null],
    ].map(([field, value]): [string, string] => [
      `a ${field} that no client would write`,
      JSON.stringify([{ ...slices, [String(field)]: value }]),
    ]),
    ['a namespace of what has none', JSON.stringify([{ ...cidrs, namespace: 'default' }])],
  ])('%s is left out', (_name, text) => {
    expect(parseQueries(text, 'edge-1')).toEqual([]);
  });

  test('no more than a bounded number is read', () => {
    const many = Array.from({ length: 1000 }, () => currentKubeProxyQueries('n')).flat();
    expect(parseQueries(serializeQueries(many), 'n')).toEqual(many.slice(0, 32));
  });
});
