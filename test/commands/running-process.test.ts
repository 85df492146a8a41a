import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setInterval as every } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  assertSameNode,
  flushRunningProcess,
  type OwnAddresses,
  readRunningProcess,
} from '../../src/commands/running-process.ts';
import { createProtobufCodec } from '../../src/filter/codec/protobuf/codec.ts';
import { NODES } from '../../src/filter/codec/resource.ts';
import { currentKubeProxyQueries } from '../../src/proxy/api/kube-proxy-queries.ts';
import { serializeQueries } from '../../src/proxy/api/query-json.ts';

const NODE = 'edge-1';
/** What is known without a usable response. */
const NOTHING = { queries: undefined, nodes: [], unknown: undefined };
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
  return await readRunningProcess({ admin: { host: '127.0.0.1', port } }, NODE);
}

describe('readRunningProcess()', () => {
  test('returns the queries of the process that listens at the admin address', async () => {
    const port = await startNeighbour(respond(serializeQueries(currentKubeProxyQueries(NODE))));
    expect((await ask(port)).queries).toEqual(currentKubeProxyQueries(NODE));
  });

  const version = JSON.stringify({ version: '1.0.0', node: 'edge-2', nodeUid: 'u-1' });

  test('returns for which Node that process works', async () => {
    const port = await startNeighbour(respond(version));
    const address = { host: '127.0.0.1', port };
    const nodes = [{ address, node: 'edge-2', nodeUid: 'u-1' }];
    expect(await ask(port)).toEqual({ queries: undefined, nodes, unknown: undefined });
  });

  // Otherwise a local process without rights could prevent every start.
  test('ignores the Node that a process of another user names', async () => {
    const port = await startNeighbour(respond(version));
    const otherUser = (process.geteuid?.() ?? 0) + 1;
    const address = { host: '127.0.0.1', port };
    const all = { admin: address, listen: address, https: address };
    expect(await readRunningProcess(all, NODE, otherUser)).toEqual(NOTHING);
  });

  test.each(['{"node":""}', '{"node":7}', '[]', 'null', `{"node":"${'x'.repeat(254)}"}`])(
    'ignores a Node that is not a name: %s',
    async (body) => {
      expect(await ask(await startNeighbour(respond(body)))).toEqual(NOTHING);
    },
  );

  test('sends no request if the port is 0', async () => {
    expect(await ask(0)).toEqual(NOTHING);
  });

  // This process has the only socket, and accepts nothing yet: it would wait for its own response at each start.
  test('sends no request to a socket that systemd has passed to this process', async () => {
    let requests = 0;
    const port = await startNeighbour((socket) => {
      requests++;
      respond(version)(socket);
    });
    const inherited = { host: '127.0.0.1', port, fd: 3 };
    const all = { admin: inherited, listen: inherited, https: inherited };
    expect(await readRunningProcess(all, NODE)).toEqual(NOTHING);
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
    expect((await ask(port)).queries).toBeUndefined();
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
    expect(answers).toEqual(neighbours.map(() => NOTHING));
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
    expect(running.queries).toEqual(currentKubeProxyQueries(NODE));
    expect(unhandled).toEqual([]);
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
});

describe('a process that does not say for which Node it works', () => {
  const host = '127.0.0.1';
  /** A port at which no process listens. */
  async function freePort(): Promise<number> {
    const port = await startNeighbour(() => {});
    servers.pop()?.close();
    return port;
  }

  test.each<keyof OwnAddresses>(['listen', 'https'])(
    'is unknown if it listens at %s, and no process listens at the admin address',
    async (name) => {
      const address = { host, port: await startNeighbour((socket) => socket.destroy()) };
      const admin = { host, port: await freePort() };
      const running = await readRunningProcess({ admin, [name]: address }, NODE);
      expect(running).toEqual({ ...NOTHING, unknown: address });
    },
  );

  // A release without /version: it is the last process with the same settings.
  test('is the last process if one listens at the admin address, too', async () => {
    const https = { host, port: await startNeighbour((socket) => socket.destroy()) };
    const admin = { host, port: await startNeighbour(respond('', 'HTTP/1.1 404 Not Found')) };
    expect(await readRunningProcess({ admin, https }, NODE)).toEqual(NOTHING);
  });

  // It lists its own Node only. Its Node may have been deleted.
  test('works for the Node that it lists, although there is none of this name', async () => {
    const body = createProtobufCodec().encodeList(NODES, '1', []);
    const listen = { host, port: await startNeighbour(respond(`${Buffer.concat(body)}`)) };
    const admin = { host, port: await freePort() };
    const { nodes } = await readRunningProcess({ admin, listen }, NODE);
    expect(nodes).toEqual([{ address: listen, node: NODE, nodeUid: undefined }]);
  });

  // It closes its admin port and its https port one after the other.
  test('is not unknown if it ends meanwhile', async () => {
    const https = { host, port: await startNeighbour((socket) => socket.destroy()) };
    const [last] = servers;
    last?.once('connection', () => last.close());
    const admin = { host, port: await freePort() };
    expect(await readRunningProcess({ admin, https }, NODE)).toEqual(NOTHING);
  });

  // It opens its admin port last.
  test('is not unknown if it opens its admin port meanwhile', async () => {
    const https = { host, port: await startNeighbour((socket) => socket.destroy()) };
    const admin = { host, port: await freePort() };
    const later = createServer((socket) => {
      sockets.add(socket);
      socket.once('data', () => respond('{"node":"edge-2"}')(socket));
    });
    servers[0]?.once('connection', () => later.listen(admin));
    servers.push(later);
    const { nodes } = await readRunningProcess({ admin, https }, NODE);
    expect(nodes).toEqual([{ address: admin, node: 'edge-2', nodeUid: undefined }]);
  });
});

describe('assertSameNode()', () => {
  const admin = { host: '127.0.0.1', port: 10361 };
  const https = { host: '0.0.0.0', port: 10362 };
  const of = (node: string, address: typeof admin) => ({ address, node, nodeUid: undefined });

  test('accepts processes for the same Node, and those that are not unknown', () => {
    const unknown = undefined;
    expect(() => assertSameNode({ nodes: [], unknown }, NODE, admin)).not.toThrow();
    const nodes = [of(NODE, admin), of(NODE, https)];
    expect(() => assertSameNode({ nodes, unknown }, NODE, admin)).not.toThrow();
  });

  test('refuses a process for another Node, and names both and the address', () => {
    const nodes = [of(NODE, admin), of('edge-2', https)];
    expect(() => assertSameNode({ nodes, unknown: undefined }, NODE, admin)).toThrow(
      /for the Node "edge-2", listens at 0\.0\.0\.0:10362; this one is for "edge-1" and does not start/,
    );
  });

  test('refuses a process that is unknown, and names the address and the admin address', () => {
    expect(() => assertSameNode({ nodes: [], unknown: https }, NODE, admin)).toThrow(
      /listens at 0\.0\.0\.0:10362; .* does not listen at 127\.0\.0\.1:10361 \(adminListen\)/,
    );
  });
});
