import { describe, expect, test } from '@jest/globals';
import { listenerOwner } from '../../../src/proxy/util/listener-owner.ts';
import { countListeners, listenerUsers } from '../../../src/proxy/util/proc-net-tcp.ts';
import { listeningSockets } from '../../support/http/listening-sockets.ts';
import { loopbackHosts } from '../../support/http/loopback-hosts.ts';

const { servers, listen } = listeningSockets();

describe('countListeners()', () => {
  test.each(loopbackHosts())('counts the socket that listens at %s', async (host) => {
    const port = await listen(host);
    expect(countListeners({ host, port })).toBe(1);
    servers.splice(0)[0]?.close();
    expect(countListeners({ host, port })).toBe(0);
  });

  test('counts every socket that shares a port', async () => {
    const first = await listen('127.0.0.1');
    servers.splice(0)[0]?.close();
    await listen('127.0.0.1', first);
    await listen('127.0.0.1', first);
    expect(countListeners({ host: '127.0.0.1', port: first })).toBe(2);
  });

  test('does not count a socket of another address, but one of all addresses', async () => {
    const port = await listen('127.0.0.2');
    expect(countListeners({ host: '127.0.0.1', port })).toBe(0);
    const all = await listen('0.0.0.0');
    expect(countListeners({ host: '127.0.0.1', port: all })).toBe(1);
  });
});

test('listenerUsers() returns the owners of the sockets that listen at an address', async () => {
  const host = '127.0.0.1';
  const port = await listen(host);
  expect([...listenerUsers({ host, port })]).toEqual([process.geteuid?.()]);
  servers.splice(0)[0]?.close();
  expect(listenerUsers({ host, port }).size).toBe(0);
});

test('listenerOwner() names the process that listens at an address', async () => {
  const host = '127.0.0.1';
  const port = await listen(host);
  expect(listenerOwner({ host, port })).toMatch(new RegExp(`^process ${process.pid} \\(.+\\)$`));
  servers.splice(0)[0]?.close();
  expect(listenerOwner({ host, port })).toBeUndefined();
});
