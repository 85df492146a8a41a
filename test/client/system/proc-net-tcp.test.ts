import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { describe, expect, test } from '@jest/globals';
import {
  listeningSockets,
  parseSocket,
  processListens,
} from '../../../src/client/system/proc-net-tcp.ts';
import { listeningSockets as openSockets } from '../../support/http/listening-sockets.ts';
import { spawnMortal } from '../../support/process/mortal-child.ts';

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

test('processListens() is about one process alone', async () => {
  const port = await listen('127.0.0.1');
  const other = spawnMortal('sleep', ['60'], { stdout: 'inherit' });
  await once(other, 'spawn');
  const both = [process.pid, other.pid ?? 0];
  expect(both.map((pid) => processListens(pid, port))).toEqual([true, false]);
  other.kill('SIGKILL');
  await once(other, 'close');
  servers.splice(0)[0]?.close();
  expect(processListens(process.pid, port)).toBe(false);
});

test('parseSocket() parses addresses of both families, and mapped ones as IPv4', () => {
  const text = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:D431 0100007F:2878 01 00000000:00000000 00:00000000 00000000     0        0 12345 1 0 100 0 0 10 0
   1: 0000000000000000FFFF00000100007F:D432 0000000000000000FFFF00000100007F:2878 01 00000000:00000000 00:00000000 00000000     0        0 12346 1
   2: 00000000000000000000000001000000:D433 00000000000000000000000001000000:192B 0A 00000000:00000000 00:00000000 00000000     0        0 12347 1
`;
  const sockets = text.split('\n').flatMap((line) => parseSocket(line) ?? []);
  expect(sockets).toEqual([
    { local: { host: '127.0.0.1', port: 54321 }, state: '01', user: 0, inode: '12345' },
    { local: { host: '127.0.0.1', port: 54322 }, state: '01', user: 0, inode: '12346' },
    { local: { host: '::1', port: 54323 }, state: '0A', user: 0, inode: '12347' },
  ]);
});
