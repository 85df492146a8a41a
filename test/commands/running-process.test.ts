import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setInterval as every } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  assertSameNode,
  flushRunningProcess,
  readRunningProcess,
} from '../../src/commands/running-process.ts';
import { currentKubeProxyQueries } from '../../src/proxy/api/kube-proxy-queries.ts';
import { serializeQueries } from '../../src/proxy/api/query-json.ts';

const NODE = 'edge-1';
const servers: Server[] = [];
const sockets = new Set<Socket>();

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** Starts a server that handles each connection with `answer`; returns its port. */
async function startNeighbour(answer: (socket: Socket) => unknown): Promise<number> {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    socket.once('data', () => void answer(socket));
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function respond(body: string, head = 'HTTP/1.1 200 OK'): (socket: Socket) => void {
  return (socket) => socket.end(`${head}\r\nConnection: close\r\n\r\n${body}`);
}

/** Sends the same bytes again and again while the client reads them. */
function repeat(first: string, next: string, pauseMs: number): (socket: Socket) => Promise<void> {
  return async (socket) => {
    socket.write(first);
    for await (const _ of every(pauseMs)) {
      if (socket.destroyed) return;
      socket.write(next);
    }
  };
}

async function ask(port: number) {
  return await readRunningProcess({ admin: { host: '127.0.0.1', port }, listen: undefined }, NODE);
}

describe('readRunningProcess()', () => {
  test('returns the queries of the process that listens at the admin address', async () => {
    const port = await startNeighbour(respond(serializeQueries(currentKubeProxyQueries(NODE))));
    expect((await ask(port))?.queries).toEqual(currentKubeProxyQueries(NODE));
  });

  const version = JSON.stringify({ version: '1.0.0', node: 'edge-2', nodeUid: 'u-1' });

  test('returns for which Node that process works', async () => {
    const port = await startNeighbour(respond(version));
    expect(await ask(port)).toEqual({ queries: undefined, node: 'edge-2', nodeUid: 'u-1' });
  });

  // Otherwise a local process without rights could prevent every start.
  test('ignores the Node that a process of another user names', async () => {
    const port = await startNeighbour(respond(version));
    const otherUser = (process.geteuid?.() ?? 0) + 1;
    const address = { host: '127.0.0.1', port };
    const both = { admin: address, listen: address };
    expect(await readRunningProcess(both, NODE, otherUser)).toBeUndefined();
  });

  test.each(['{"node":""}', '{"node":7}', '[]', 'null', `{"node":"${'x'.repeat(254)}"}`])(
    'ignores a Node that is not a name: %s',
    async (body) => {
      expect(await ask(await startNeighbour(respond(body)))).toBeUndefined();
    },
  );

  test('sends no request if the port is 0', async () => {
    expect(await ask(0)).toBeUndefined();
  });

  // This process has the only socket, and accepts nothing yet: it would wait for its own response at each start.
  test('sends no request to a socket that systemd has passed to this process', async () => {
    let requests = 0;
    const port = await startNeighbour((socket) => {
      requests++;
      respond(version)(socket);
    });
    const inherited = { host: '127.0.0.1', port, fd: 3 };
    const both = { admin: inherited, listen: inherited };
    expect(await readRunningProcess(both, NODE)).toBeUndefined();
    await flushRunningProcess(inherited);
    expect(requests).toBe(0);
  });

  const endless = 'x'.repeat(64 * 1024);
  const ok = 'HTTP/1.1 200 OK\r\n\r\n';
  test.each<[string, (socket: Socket) => unknown]>([
    ['closes', (socket) => socket.destroy()],
    ['sends no http', (socket) => socket.end('220 mail.example.com\r\n')],
    ['refuses', respond(serializeQueries(currentKubeProxyQueries(NODE)), 'HTTP/1.1 500 Oops')],
    ['redirects', respond('', 'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/views')],
    ['sends no JSON', respond('<html>')],
    ['sends an empty list', respond('[]')],
    ['nests lists 100,000 deep', respond('['.repeat(100_000) + ']'.repeat(100_000))],
    [
      'sends a version to go on from',
      respond(JSON.stringify({ format: 1, node: NODE, views: [{ version: '9'.repeat(31) }] })),
    ],
    [
      'sends more than any wrapper would',
      respond(' '.repeat(256 * 1024) + serializeQueries(currentKubeProxyQueries(NODE))),
    ],
    ['sends without end, as fast as it can', repeat(ok, endless, 1)],
    ['sends headers without end', repeat('HTTP/1.1 200 OK\r\n', `X-Y: ${endless}\r\n`, 1)],
  ])('ignores a process that %s', async (_name, answer) => {
    const port = await startNeighbour(answer);
    expect((await ask(port))?.queries).toBeUndefined();
    // It does not keep the connection either.
    const [socket] = sockets;
    if (socket?.destroyed === false) await new Promise((resolve) => socket.once('close', resolve));
  });

  // All in one test, because each takes the whole time.
  test('waits at most 2 seconds for a response that never ends', async () => {
    const neighbours = await Promise.all([
      startNeighbour(() => {}),
      startNeighbour(repeat('HTTP/1.1 200 OK\r\n', 'X: y\r\n', 50)),
      startNeighbour(repeat(ok, ' ', 50)),
      startNeighbour(
        repeat('HTTP/1.1 103 Early Hints\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\n\r\n', 50),
      ),
      startNeighbour((socket) => {
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
        );
      }),
    ]);
    const began = performance.now();
    const answers = await Promise.all(neighbours.map(ask));
    const elapsed = performance.now() - began;
    expect(answers).toEqual(neighbours.map(() => undefined));
    // Half of it is for a busy machine.
    expect(elapsed).toBeLessThan(4_000);
  });
});

// A rejection that nothing handles ends the process before it listens.
test('an unusable list from the other listener is ignored, also before the views have arrived', async () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', onUnhandled);
  try {
    const listed = Promise.withResolvers<void>();
    const views = serializeQueries(currentKubeProxyQueries(NODE));
    const admin = await startNeighbour(async (socket) => {
      await listed.promise;
      // Unhandled rejections are reported after the current task.
      setTimeout(() => respond(views)(socket), 50);
    });
    const listen = await startNeighbour((socket) => {
      respond('<html>')(socket);
      socket.once('close', () => listed.resolve());
    });
    const host = '127.0.0.1';
    const both = { admin: { host, port: admin }, listen: { host, port: listen } };
    const running = await readRunningProcess(both, NODE);
    expect(running?.queries).toEqual(currentKubeProxyQueries(NODE));
    expect(unhandled).toEqual([]);
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
});

describe('assertSameNode()', () => {
  const address = [{ host: '127.0.0.1', port: 10361 }];

  test('accepts a process for the same Node, and one that names none', () => {
    assertSameNode({ node: NODE }, NODE, address);
    expect(() => assertSameNode({ node: undefined }, NODE, address)).not.toThrow();
  });

  test('refuses a process for another Node, and names both and the address', () => {
    expect(() => assertSameNode({ node: 'edge-2' }, NODE, address)).toThrow(
      /for the Node "edge-2", listens at 127\.0\.0\.1:10361; this one is for "edge-1" and does not start/,
    );
  });
});
