import { execFileSync } from 'node:child_process';
import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Door, type DoorOptions } from '../../src/proxy/door.ts';
import { DEFAULT_BOUNDS } from '../../src/proxy/door-refusal.ts';
import { until } from '../support/http-until.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

function makeDoor(options: Partial<DoorOptions> = {}): Door {
  return new Door({
    name: 'listen',
    address: { host: '127.0.0.1', port: 0 },
    bounds: DEFAULT_BOUNDS,
    onRequest: (_request, response) => void response.end('served'),
    logger: pino({ level: 'silent' }),
    ...options,
  });
}

/** Opens a connection; `ended` resolves with all it received, or the error. */
function open(url: string): {
  readonly write: (bytes: string) => void;
  readonly received: () => string;
  readonly ended: Promise<string>;
} {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let received = '';
  socket.setEncoding('latin1').on('data', (chunk) => {
    received += chunk;
  });
  const ended = new Promise<string>((resolve) => {
    socket.once('error', ({ message }) => resolve(message));
    socket.once('close', () => resolve(received));
  });
  return { write: (bytes) => socket.write(bytes), received: () => received, ended };
}

describe('closing a door', () => {
  test('serves all connections that wait in its socket', async () => {
    const door = makeDoor();
    const url = await door.listen();
    const clients = Array.from({ length: 30 }, () => open(url));
    for (const { write } of clients) write(GET);
    await new Promise<void>((resolve) => process.nextTick(resolve));
    // The kernel completes the handshakes while this process has no turn to accept.
    execFileSync('sleep', ['0.1']);
    await door.close(1000, () => {});
    const answers = await Promise.all(clients.map(({ ended }) => ended));
    expect(answers.filter((answer) => !/^HTTP\/1.1 200 .*close.*served$/s.test(answer))).toEqual(
      [],
    );
  });

  test('answers a request that comes late on an idle connection, as the last one', async () => {
    const door = makeDoor();
    const client = open(await door.listen());
    client.write(GET);
    await until(() => client.received().endsWith('served'), 'the first answer');
    const closed = door.close(1000, () => setTimeout(() => client.write(GET), 100));
    const answers = (await client.ended).match(/Connection: [a-z-]+/g);
    expect(answers).toEqual(['Connection: keep-alive', 'Connection: close']);
    const start = performance.now();
    await closed;
    // Nobody is left to be waited for.
    expect(performance.now() - start).toBeLessThan(500);
  });

  test('does not wait for clients that stay idle', async () => {
    const door = makeDoor();
    const client = open(await door.listen());
    client.write(GET);
    await until(() => client.received().endsWith('served'), 'the first answer');
    const start = performance.now();
    await door.close(100, () => {});
    expect(performance.now() - start).toBeLessThan(1500);
    expect(await client.ended).toMatch(/served$/);
  });
});

describe('requests of one connection', () => {
  /** Counts the requests under way; answers each at once, with more than a socket takes. */
  function busyDoor(body: Buffer) {
    const counts = { now: 0, most: 0, all: 0 };
    const door = makeDoor({
      onRequest: (_request, response) => {
        counts.all++;
        counts.most = Math.max(counts.most, ++counts.now);
        response.once('close', () => counts.now--);
        response.end(body);
      },
    });
    return { door, counts };
  }

  test('a second one waits until the answer to the first has been taken', async () => {
    const { door, counts } = busyDoor(Buffer.alloc(32 * 1024 * 1024));
    const client = open(await door.listen());
    client.write(GET);
    await until(() => client.received().length > 0, 'the first answer');
    client.write(GET);
    await until(() => client.received().length > 64 * 1024 * 1024, 'the second answer');
    expect(counts).toMatchObject({ most: 1, all: 2 });
    await door.close(0, () => {});
  });

  test('many at once are refused, and take nothing', async () => {
    const { door, counts } = busyDoor(Buffer.alloc(8 * 1024 * 1024));
    const client = open(await door.listen());
    client.write(GET.repeat(20));
    await client.ended;
    await until(() => counts.now === 0, 'the end of all');
    expect(counts).toMatchObject({ most: 1, all: 1 });
    await door.close(0, () => {});
  });

  test('one to switch protocols does not come while another is in work', async () => {
    const upgraded: string[] = [];
    const door = makeDoor({
      onRequest: (_request, response) => void response.write('begun'),
      onUpgrade: ({ url = '' }, socket) => {
        upgraded.push(url);
        socket.destroy();
      },
    });
    const client = open(await door.listen());
    client.write(GET);
    await until(() => client.received().includes('begun'), 'the first answer');
    client.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: a\r\n\r\n');
    await client.ended;
    expect(upgraded).toEqual([]);
    await door.close(0, () => {});
  });
});
