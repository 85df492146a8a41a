import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type FollowedWrapper, followWrapper } from '../../../bench/fleet/follow.ts';
import { eventually } from '../../support/eventually.ts';

const MARK = '203.0.113.101';
const END = 'k8s.io/initial-events-end';

let server: Server;
/** Watches that are open, by the last part of their path. */
let watches: Map<string, ServerResponse>;
let isReady: boolean;
let followed: FollowedWrapper;

beforeEach(async () => {
  watches = new Map();
  isReady = true;
  server = createServer(({ url = '' }, response) => {
    const { pathname } = new URL(url, 'http://x');
    if (!isReady) return response.writeHead(503).end();
    watches.set(pathname.split('/').at(-1) ?? '', response);
    return response.writeHead(200).flushHeaders();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  await followed.stop();
  server.closeAllConnections();
  server.close();
});

function follow(): void {
  followed = followWrapper(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'a', MARK);
}

const isSettled = async (promise: Promise<unknown>): Promise<boolean> =>
  (await Promise.race([promise, 'open'])) !== 'open';

test('a node is complete when all four collections are, and newest when it has the mark', async () => {
  follow();
  await eventually(() => watches.size, 4);
  const [slices, ...others] = [...watches].toSorted(([a]) => (a === 'endpointslices' ? -1 : 1));
  for (const [, response] of others) response.write(`${END}`);
  slices?.[1].write('10.0.0.1 ');
  slices?.[1].write(END);
  expect((await followed.complete).hasMark).toBe(false);
  expect(await isSettled(followed.newest)).toBe(false);
  slices?.[1].write(`${'x'.repeat(100)} ${MARK.slice(0, 7)}`);
  await eventually(() => slices?.[1].writableLength, 0);
  slices?.[1].write(MARK.slice(7));
  expect(await followed.newest).toBeGreaterThan(0);
});

test('a node that does not serve yet is asked again, and so is a watch that has ended', async () => {
  isReady = false;
  follow();
  setTimeout(() => {
    isReady = true;
  }, 200);
  await eventually(() => watches.size, 4);
  const before = watches.get('endpointslices');
  before?.end();
  await eventually(() => watches.get('endpointslices') === before, false);
  for (const [, response] of watches) response.write(`${MARK} ${END}`);
  expect((await followed.complete).hasMark).toBe(true);
});
