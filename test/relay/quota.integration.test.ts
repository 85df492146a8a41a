import { expect, jest, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import { inLanes } from '../../harness/hostile/http.ts';
import { eventually } from '../support/eventually.ts';
import { type RawConnection, raw, readFirst } from '../support/http/http-client.ts';
import { useReviewedRelay } from '../support/relay/relay-fixture.ts';
import { putSlice } from '../support/wrapper/small-cluster.ts';

jest.setTimeout(300_000);

const NODES = 200;
const SLICES =
  '/apis/discovery.k8s.io/v1/endpointslices?labelSelector=!service.kubernetes.io%2Fheadless&';
const own = (node: number | string) => `/api/v1/nodes?fieldSelector=metadata.name%3Dedge-${node}&`;

/**
 * Opens so many connections, a few at a time, and waits until each has an answer. All sides share this process: of
 * hundreds of handshakes at once, on a slow machine some take longer than an access review may.
 */
async function openEach(
  count: number,
  begin: (n: number) => RawConnection,
): Promise<RawConnection[]> {
  const opened: RawConnection[] = [];
  await inLanes([...Array(count).keys()], 8, async (n) => {
    const begun = begin(n);
    opened.push(begun);
    await new Promise((resolve) => begun.socket.once('data', resolve).once('close', resolve));
  });
  return opened;
}

test('200 nodes of one service account fit, what is beyond its quota is refused, and nobody else notices', async () => {
  const { relay, cluster, ca, ask } = await useReviewedRelay();
  const version = String(cluster.resourceVersion);
  const isServed = ({ received }: RawConnection) => received().startsWith('HTTP/1.1 200');
  const isRefused = ({ received }: RawConnection) => received().startsWith('HTTP/1.1 503');
  /** Opens watches of 50 nodes. */
  const open = async (from: number, path: (node: number) => string): Promise<RawConnection[]> =>
    await openEach(50, (n) => {
      const node = from + n;
      const url = `${path(node)}resourceVersion=${version}&watch=true&allowWatchBookmarks=true`;
      const token = `Authorization: Bearer wrapper/${node}\r\n`;
      // Each node has an address of its own.
      const tls = { ca, localAddress: `127.0.1.${node % 250}` };
      return raw(relay.url, `GET ${url} HTTP/1.1\r\nHost: x\r\n${token}\r\n`, tls);
    });
  const nodes: RawConnection[] = [];
  for (let n = 0; n < NODES; n += 50) {
    nodes.push(...(await open(n, () => SLICES)), ...(await open(n, own)));
  }
  expect(nodes.every(isServed)).toBe(true);
  // The same account, with more nodes than anybody has.
  const more: RawConnection[] = [];
  for (let n = NODES; !more.some(isRefused); n += 50) {
    more.push(...(await open(n, own)));
  }
  expect(more.find(isRefused)?.received()).toMatch(/maxViews/);
  putSlice(cluster, 'web-a', 'web', [{ ip: '10.0.0.9', node: 'edge-1' }]);
  await eventually(
    () => nodes.filter(({ received }) => received().includes('10.0.0.9')).length,
    NODES,
  );
  expect(nodes.every(({ socket }) => !socket.destroyed)).toBe(true);
  // Another account has room.
  const list = `${own('other')}resourceVersion=0`;
  expect((await ask(list, { token: 'other' })).code).toBe(200);
  expect((await ask(list.replace('other', 'another'), { token: 'wrapper' })).code).toBe(503);
});

test('one address takes a quarter of what its account may have, whatever tokens it has', async () => {
  const { relay, cluster, ca, ask } = await useReviewedRelay();
  const url = `${SLICES}resourceVersion=${cluster.resourceVersion}&watch=true`;
  const watches = await openEach(641, (n) => {
    const token = `Authorization: Bearer tenant/${n % 64}\r\n`;
    return raw(relay.url, `GET ${url} HTTP/1.1\r\nHost: x\r\n${token}\r\n`, { ca });
  });
  const answers = watches.map(({ received }) => /^HTTP.1.1 (\d+)/.exec(received())?.[1]);
  expect(answers.filter((code) => code === '200')).toHaveLength(640);
  const refused = watches.find(({ received }) => received().startsWith('HTTP/1.1 503'));
  expect(refused?.received()).toContain('640 reads of this address are active already');
  // A node of this account at another address.
  const path = `${SLICES}resourceVersion=0`;
  expect((await ask(path, { token: 'tenant/0' })).code).toBe(503);
  const tls = { ca, localAddress: '127.0.1.1' };
  const token = 'Authorization: Bearer tenant/0\r\n';
  const node = raw(relay.url, `GET ${path} HTTP/1.1\r\nHost: x\r\n${token}\r\n`, tls);
  await eventually(() => node.received().startsWith('HTTP/1.1 200'), true);
});

/** Slices of 8 MB together in JSON. */
function putFatSlices(cluster: ApiServer): void {
  for (let n = 0; n < 40; n++) {
    const endpoints = Array.from({ length: 1_000 }, (_, i) => ({
      ip: `10.${n}.${i >> 8}.${i & 255}`,
      node: `edge-${n}-${'x'.repeat(60)}`,
    }));
    putSlice(cluster, `fat-${n}`, 'web', endpoints);
  }
}

test('lists that nobody reads take no room from other tokens, nor from other users', async () => {
  const { relay, cluster, ca, ask } = await useReviewedRelay();
  putFatSlices(cluster);
  const path = `${SLICES}resourceVersion=0`;
  const lists: RawConnection[] = [];
  /** Holds lists of one token until one more is refused; returns how many there are. */
  const hold = async (token: string): Promise<number> => {
    for (let held = 0; ; held++) {
      const lines = `Host: x\r\nAccept: application/json\r\nAuthorization: Bearer ${token}\r\n`;
      const list = raw(relay.url, `GET ${path} HTTP/1.1\r\n${lines}\r\n`, { ca });
      lists.push(list);
      const first = await readFirst(list);
      if (first.startsWith('HTTP/1.1 200')) continue;
      expect(first).toMatch(/^HTTP.1.1 429 .*retry-after: 1\r\n/is);
      return held;
    }
  };
  const bytes = (await ask(path, { token: 'node/0' })).body.length;
  expect(await hold('tenant/0')).toBeGreaterThanOrEqual(Math.floor((32 * 2 ** 20) / bytes));
  // The same account has room for three more, and another account as much again.
  let tokens = 1;
  while ((await hold(`tenant/${tokens}`)) > 0) tokens++;
  expect(tokens).toBeGreaterThanOrEqual(4);
  expect((await ask(path, { token: 'node/0' })).code).toBe(200);
  // What is refused is not remembered.
  for (const { socket } of lists) socket.destroy();
  await eventually(async () => (await ask(path, { token: 'tenant/0' })).code, 200);
});
