import { execFileSync } from 'node:child_process';
import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Door } from '../../src/proxy/door.ts';
import { DEFAULT_BOUNDS } from '../../src/proxy/door-refusal.ts';
import { until } from '../support/http-until.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

function makeDoor(): Door {
  return new Door({
    name: 'listen',
    address: { host: '127.0.0.1', port: 0 },
    bounds: DEFAULT_BOUNDS,
    onRequest: (_request, response) => void response.end('served'),
    logger: pino({ level: 'silent' }),
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
