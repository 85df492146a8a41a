import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiServer } from '../../embedded/api-server.ts';
import type { NodeProxy } from '../../src/proxy/node-proxy.ts';
import { type RawConnection, raw } from '../support/http/http-client.ts';
import { EVENTS, startingEvent } from '../support/http/kube-proxy-events.ts';
import { until } from '../support/http/until.ts';
import { createSmallCluster } from '../support/wrapper/small-cluster.ts';
import { startWrapper } from '../support/wrapper/wrapper-fixture.ts';

const [START] = EVENTS;
/** Events that the wrapper accepts in the first minute: the burst, and the refill of a minute. */
const MOST_IN_A_MINUTE = 20 + 4;

let server: ApiServer;
let proxy: NodeProxy;
let connections: RawConnection[];

beforeEach(async () => {
  connections = [];
  server = createSmallCluster();
  proxy = await startWrapper(await server.listen());
});

afterEach(async () => {
  for (const { socket } of connections) socket.destroy();
  await proxy.close();
  await server.close();
});

const stored = () => server.requests.filter(({ path }) => path.endsWith('/events'));

async function post(body: string): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(proxy.url + START.path, { method: 'POST', headers, body });
  await response.arrayBuffer();
  return response.status;
}

describe('a local process', () => {
  // Regression: 1,807 Events of 1 MB in 128 s filled an etcd of 2 GB. Then no write in the cluster succeeded.
  test('that writes large Events all the time stores none', async () => {
    const large = startingEvent('a', { note: 'x'.repeat(1_000_000) });
    const codes = new Set<number>();
    for (let count = 0; count < 50; count++) codes.add(await post(large).catch(() => 0));
    expect([...codes].every((code) => code === 413 || code === 0)).toBe(true);
    expect(stored()).toEqual([]);
  });

  test("that writes kube-proxy's own Events all the time stores a few small ones", async () => {
    const codes = new Map<number, number>();
    let next = 0;
    const write = async (): Promise<void> => {
      while (next < 400) {
        const code = await post(startingEvent(`edge-1.${next++}`, { note: 'x'.repeat(3000) }));
        codes.set(code, (codes.get(code) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 8 }, write));
    expect(stored().length).toBeLessThanOrEqual(MOST_IN_A_MINUTE);
    expect(codes.get(201)).toBe(stored().length);
    expect([...codes.keys()].sort()).toEqual([201, 429]);
  });

  // Regression: 250 slow bodies on each of three nodes occupied the API server. Other requests waited 10 to 15 s.
  test('that sends bodies slowly occupies no request slot of the API server, and no view waits', async () => {
    const head = `POST ${START.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 300\r\n\r\n{`;
    const url = new URL(proxy.url);
    for (let count = 0; count < 100; count++) connections.push(raw(url, head));
    const refused = () => connections.filter(({ received }) => received().includes('429')).length;
    await until(() => refused() === 96, 'all but four to be refused');
    const view = await fetch(`${proxy.url}/api/v1/services`);
    await view.arrayBuffer();
    expect(view.status).toBe(200);
    expect(stored()).toEqual([]);
    await Promise.all(connections.map(({ closed }) => closed));
    const answers = connections.map(({ received }) => received().slice(9, 12)).sort();
    expect(answers.filter((code) => code === '408')).toHaveLength(4);
    expect(await post(START.json)).toBe(201);
    expect(stored()).toHaveLength(1);
  });
});
