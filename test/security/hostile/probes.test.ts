import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { type FakeScene, startFakeScene } from './support/fake-scene.ts';
import { PROBE_ROWS } from './support/probe-rows.ts';
import { report } from './support/report.ts';
import { endsWithin, hold } from './support/sockets.ts';

jest.setTimeout(120_000);

/** An answer that ends, or a connection that does, is waited for so long, in milliseconds. */
const ANSWER_MS = 3_000;

let scene: FakeScene;

beforeAll(async () => {
  scene = await startFakeScene();
});

afterAll(async () => {
  await scene?.stop();
});

/** The first status of the answer, or `end`, or `nothing`. */
async function statusOf(
  scheme: 'http' | 'https',
  bytes: (lines: string) => string,
): Promise<string> {
  const { wrapper } = scene;
  const isTls = scheme === 'https';
  const held = hold(isTls ? wrapper.httpsPort : wrapper.port, {
    bytes: bytes(isTls ? 'Authorization: Bearer caller\r\n' : ''),
    ...(isTls ? { ca: wrapper.ca() } : {}),
  });
  const ended = await endsWithin(held, ANSWER_MS);
  held.socket.destroy();
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(held.received()) ?? [];
  return status ?? (ended ? 'end' : 'nothing');
}

/** Whether a status is one of `200`, `4xx`, `400|403`. */
function matches(status: string, expected: string): boolean {
  return expected
    .split('|')
    .some(
      (each) =>
        each === status || (each.endsWith('xx') && /^\d/.test(status) && each[0] === status[0]),
    );
}

test.each(['http', 'https'] as const)(
  'each probe over %s gets the answer of the table',
  async (scheme) => {
    const wrong: string[] = [];
    let [probes, reachedInAll] = [0, 0];
    for (const row of PROBE_ROWS) {
      const expected = row[scheme];
      if (expected === undefined) continue;
      const [statuses = '', reaches] = expected.split(' ');
      scene.forget();
      const status = await statusOf(scheme, row.bytes);
      const reached = scene.reached();
      probes += 1;
      if (reached.length > 0) reachedInAll += 1;
      const isRight = matches(status, statuses) && reached.length > 0 === (reaches === '+');
      if (!isRight)
        wrong.push(
          `${row.name}: ${status}, expected ${expected}; reached the API server: ${reached.join(', ') || 'nothing'}`,
        );
    }
    report(
      'probes',
      `${scheme}: ${probes} requests, ${wrong.length} not as expected, ${reachedInAll} reached the API server`,
    );
    for (const line of wrong) report('probes', line);
    expect(wrong).toEqual([]);
  },
);

test('there are at least 200 probes', () => {
  expect(PROBE_ROWS.length).toBeGreaterThanOrEqual(200);
});
