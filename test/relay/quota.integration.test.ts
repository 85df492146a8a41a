import { expect, jest, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { type RawConnection, raw } from '../support/http/http-client.ts';
import { useReviewedRelay } from '../support/relay/relay-fixture.ts';
import { putSlice } from '../support/wrapper/small-cluster.ts';

jest.setTimeout(120_000);

const NODES = 200;
const SHARED = [
  '/api/v1/services?labelSelector=!service.kubernetes.io%2Fservice-proxy-name&',
  '/apis/discovery.k8s.io/v1/endpointslices?labelSelector=!service.kubernetes.io%2Fheadless&',
];
const own = (node: number | string) => `/api/v1/nodes?fieldSelector=metadata.name%3Dedge-${node}&`;

test('200 nodes of one service account fit, what is beyond its quota is refused, and nobody else notices', async () => {
  const { relay, cluster, ca, ask } = await useReviewedRelay();
  const version = String(cluster.resourceVersion);
  const watch = (path: string, node: number | string): RawConnection => {
    const url = `${path}resourceVersion=${version}&watch=true&allowWatchBookmarks=true`;
    const token = `Authorization: Bearer wrapper/${node}\r\n`;
    return raw(relay.url, `GET ${url} HTTP/1.1\r\nHost: x\r\n${token}\r\n`, { ca });
  };
  const isServed = ({ received }: RawConnection) => received().startsWith('HTTP/1.1 200');
  const isRefused = ({ received }: RawConnection) => received().startsWith('HTTP/1.1 503');
  const nodes = Array.from({ length: NODES }, (_, node) =>
    [...SHARED, own(node)].map((path) => watch(path, node)),
  ).flat();
  await eventually(() => nodes.filter(isServed).length, nodes.length);
  // The same account, with more nodes than anybody has.
  const more: RawConnection[] = [];
  while (!more.some(isRefused)) {
    const next = Array.from({ length: 50 }, (_, n) => {
      const node = `more-${more.length + n}`;
      return watch(own(node), node);
    });
    more.push(...next);
    await eventually(() => next.every((each) => isServed(each) || isRefused(each)), true);
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
