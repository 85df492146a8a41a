import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Backlog } from '../../src/proxy/backlog.ts';
import { loopbackHosts } from '../support/loopback-hosts.ts';

const servers: Server[] = [];
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

async function listen(host: string, port = 0): Promise<{ host: string; port: number }> {
  const server = createServer();
  servers.push(server);
  server.listen({ host, port, reusePort: port !== 0 });
  await once(server, 'listening');
  const address = server.address();
  return { host, port: typeof address === 'object' && address !== null ? address.port : 0 };
}

/** Connects so many times; the kernel does the handshakes, and this process has no turn to accept. */
async function connectTo(where: { host: string; port: number }, times: number): Promise<void> {
  for (let i = 0; i < times; i++)
    sockets.push(connect(where.port, where.host).on('error', () => {}));
  await new Promise<void>((resolve) => process.nextTick(resolve));
  execFileSync('sleep', ['0.1']);
}

describe('Backlog', () => {
  test.each(loopbackHosts())(
    'counts connections at %s that nobody has accepted, whenever they came',
    async (host) => {
      const where = await listen(host);
      const backlog = new Backlog(where);
      expect(backlog.count()).toBe(0);
      await connectTo(where, 3);
      expect(backlog.count()).toBe(3);
      expect(new Backlog(where).count()).toBe(3);
    },
  );

  test('counts those of all who share the port, and of nobody else', async () => {
    const { host, port } = await listen('127.0.0.1');
    servers.splice(0)[0]?.close();
    const where = await listen(host, port);
    await listen(host, port);
    const backlog = new Backlog(where);
    expect(backlog.count()).toBe(0);
    // Others listen before and after it, and have somebody waiting.
    const others = [await listen('127.0.0.1'), await listen('127.0.0.2', port)];
    for (const other of others) await connectTo(other, 1);
    expect(backlog.count()).toBe(0);
    // Nor by one that does not know yet how many sockets are at the address.
    expect(new Backlog(where).count()).toBe(0);
    await connectTo(where, 5);
    expect(backlog.count()).toBe(5);
  });

  test('leaves no file open, however often it looks', async () => {
    const backlog = new Backlog(await listen('127.0.0.1'));
    const open = () => readdirSync('/proc/self/fd').length;
    const before = open();
    for (let n = 0; n < 100; n++) backlog.count();
    expect(open() - before).toBeLessThan(50);
  });

  test('knows that nobody listens any more', async () => {
    const where = await listen('127.0.0.1');
    const backlog = new Backlog(where);
    await connectTo(where, 1);
    expect(backlog.count()).toBe(1);
    servers.splice(0)[0]?.close();
    expect(backlog.count()).toBe(0);
  });
});
