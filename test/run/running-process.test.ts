import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setInterval as every } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { currentKubeProxyQueries } from '../../src/client/api/kube-proxy-queries.ts';
import { serializeQueries } from '../../src/client/api/query-json.ts';
import { createLastProcessFlush, readOpenViews } from '../../src/run/running-process.ts';

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

/** @param userId default: the user of this process */
function flushOptions(userId = process.geteuid?.()) {
  const warnings: string[] = [];
  const logger = { warn: (text: string) => void warnings.push(text) } as never;
  const controller = new AbortController();
  const { signal: stop } = new AbortController();
  return { logger, userId, stop, listening: controller.signal, warnings, controller };
}

async function ask(port: number) {
  return await readOpenViews({ host: '127.0.0.1', port, reusePort: true }, NODE);
}

describe('readOpenViews()', () => {
  test('returns the queries of the process that listens at the admin address', async () => {
    const port = await startNeighbour(respond(serializeQueries(currentKubeProxyQueries(NODE))));
    expect(await ask(port)).toEqual(currentKubeProxyQueries(NODE));
  });

  test('sends no request if the port is 0', async () => {
    expect(await ask(0)).toBeUndefined();
  });

  // Without handoverSeconds the port is not shared.
  test('sends no request to a port that is not shared', async () => {
    let requests = 0;
    const port = await startNeighbour((socket) => {
      requests++;
      respond(serializeQueries(currentKubeProxyQueries(NODE)))(socket);
    });
    const admin = { host: '127.0.0.1', port };
    expect(await readOpenViews(admin, NODE)).toBeUndefined();
    await createLastProcessFlush(admin, flushOptions())();
    expect(requests).toBe(0);
  });

  const endless = 'x'.repeat(64 * 1024);
  const ok = 'HTTP/1.1 200 OK\r\n\r\n';
  test.each<[string, (socket: Socket) => unknown]>([
    ['closes', (socket) => socket.destroy()],
    ['sends no http', (socket) => socket.end('220 mail.example.com\r\n')],
    ['refuses', respond(serializeQueries(currentKubeProxyQueries(NODE)), 'HTTP/1.1 500 Oops')],
    ['redirects', respond('', 'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/views')],
    ['nests lists 100,000 deep', respond('['.repeat(100_000) + ']'.repeat(100_000))],
    [
      'sends more than any wrapper would',
      respond(' '.repeat(256 * 1024) + serializeQueries(currentKubeProxyQueries(NODE))),
    ],
    ['sends without end, as fast as it can', repeat(ok, endless, 1)],
    ['sends headers without end', repeat('HTTP/1.1 200 OK\r\n', `X-Y: ${endless}\r\n`, 1)],
  ])('ignores a process that %s', async (_name, answer) => {
    const port = await startNeighbour(answer);
    expect(await ask(port)).toBeUndefined();
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

describe('createLastProcessFlush()', () => {
  /** A process that answers /version so, and records the paths of its requests. */
  async function startProcess(receivesChanges: () => boolean) {
    const paths: string[] = [];
    const server = createHttpServer((request, response) => {
      paths.push(`${request.method} ${request.url}`);
      response.setHeader('connection', 'close');
      response.end(JSON.stringify({ node: NODE, receivesChanges: receivesChanges() }));
    }).listen(0, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return { admin: { host: '127.0.0.1', port, reusePort: true }, paths, server };
  }

  test('requests the newest snapshots only after the other process receives no more changes', async () => {
    let answers = 0;
    const { admin, paths } = await startProcess(() => ++answers < 3);
    const options = flushOptions();
    await createLastProcessFlush(admin, options)();
    expect(paths).toEqual([...Array(3).fill('GET /version'), 'POST /flush']);
    expect(options.warnings).toEqual([
      expect.stringContaining('the previous process still receives changes'),
    ]);
  });

  // Then a request may reach this process itself.
  test('requests nothing once this process listens, until the other one has closed its port', async () => {
    const options = flushOptions();
    const { admin, paths, server } = await startProcess(() => {
      options.controller.abort();
      setTimeout(() => server.close(), 300);
      return true;
    });
    await createLastProcessFlush(admin, options)();
    expect(paths).toEqual(['GET /version']);
    expect(server.listening).toBe(false);
  });

  // Otherwise a local process without rights could keep a node that is cut off without its snapshot.
  test('does not wait for a process of another user', async () => {
    const { admin, paths } = await startProcess(() => true);
    await createLastProcessFlush(admin, flushOptions((process.geteuid?.() ?? 0) + 1))();
    expect(paths).toEqual(['POST /flush']);
  });
});
