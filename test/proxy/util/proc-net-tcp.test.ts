import { networkInterfaces } from 'node:os';
import { describe, expect, test } from '@jest/globals';
import { listenerOwner } from '../../../src/proxy/util/listener-owner.ts';
import { listeningSockets } from '../../../src/proxy/util/proc-net-tcp.ts';
import { listeningSockets as openSockets } from '../../support/http/listening-sockets.ts';

const { servers, listen } = openSockets();

/** Loopback addresses of this machine, including IPv6 if it has that. */
function loopbackHosts(): string[] {
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const hasIpv6 = own.some(({ address }) => address === '::1');
  return ['127.0.0.1', '127.0.0.2', ...(hasIpv6 ? ['::1'] : [])];
}

describe('listeningSockets()', () => {
  test.each(loopbackHosts())('finds the socket that listens at %s, and its owner', async (host) => {
    const port = await listen(host);
    expect(listeningSockets({ host, port }).map(({ user }) => user)).toEqual([process.geteuid?.()]);
    servers.splice(0)[0]?.close();
    expect(listeningSockets({ host, port })).toEqual([]);
  });

  test('finds every socket that shares a port', async () => {
    const first = await listen('127.0.0.1');
    servers.splice(0)[0]?.close();
    await listen('127.0.0.1', first);
    await listen('127.0.0.1', first);
    expect(listeningSockets({ host: '127.0.0.1', port: first })).toHaveLength(2);
  });

  test('does not find a socket of another address, but one of all addresses', async () => {
    const port = await listen('127.0.0.2');
    expect(listeningSockets({ host: '127.0.0.1', port })).toHaveLength(0);
    const all = await listen('0.0.0.0');
    expect(listeningSockets({ host: '127.0.0.1', port: all })).toHaveLength(1);
  });
});

test('listenerOwner() names the process that listens at an address', async () => {
  const host = '127.0.0.1';
  const port = await listen(host);
  expect(listenerOwner({ host, port })).toMatch(new RegExp(`^process ${process.pid} \\(.+\\)$`));
  servers.splice(0)[0]?.close();
  expect(listenerOwner({ host, port })).toBeUndefined();
});
