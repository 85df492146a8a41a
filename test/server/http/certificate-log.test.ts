import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { logExpiry } from '../../../src/server/http/certificate-log.ts';
import { eventually } from '../../support/eventually.ts';
import { recordingLogger } from '../../support/recording-logger.ts';

const DAY = 24 * 60 * 60_000;
const FROM = Date.UTC(2026, 0, 1);
const TO = Date.UTC(2027, 0, 1);

/** What is logged while the time of day takes these values. */
async function saidAt(times: readonly number[], renewedAt = Number.POSITIVE_INFINITY, from = FROM) {
  const { logger, lines } = recordingLogger();
  let now = times[0] ?? 0;
  let looks = 0;
  const certificate = {
    get valid() {
      looks++;
      return { from: new Date(from), to: new Date(now >= renewedAt ? TO + 365 * DAY : TO) };
    },
  };
  const stop = logExpiry(certificate, logger, { now: () => now, checkMs: 1 });
  for (const time of times) {
    now = time;
    const seen = looks;
    await eventually(() => looks > seen + 1, true);
  }
  stop();
  const seen = looks;
  await delay(5);
  expect(looks).toBe(seen);
  return lines.map(({ level, msg }) => `${level} ${/certificate (.*?)[,;]/.exec(msg)?.[1]}`);
}

test('a certificate is warned of two weeks before its end, each day, and its end is said at once', async () => {
  expect(await saidAt([FROM + DAY, TO - 15 * DAY])).toEqual([]);
  expect(await saidAt([TO - 14 * DAY, TO - 14 * DAY + 60_000, TO - 13 * DAY])).toEqual([
    '40 expires soon',
    '40 expires soon',
  ]);
  expect(await saidAt([TO - 60_000, TO, TO + 1, TO + 60_000, TO + 2 * DAY])).toEqual([
    '40 expires soon',
    '50 has expired',
    '50 has expired',
  ]);
});

test('a new certificate ends it, and the next end is said again', async () => {
  const end = TO + 365 * DAY;
  const times = [TO + 1, TO + 60_000, end - DAY];
  expect(await saidAt(times, TO + 60_000)).toEqual(['50 has expired', '40 expires soon']);
});

test('a clock that is wrong is said, whatever it does then', async () => {
  expect(await saidAt([0, 60_000, FROM + DAY, TO + DAY, TO + 1])).toEqual([
    '50 is not valid yet',
    '50 has expired',
  ]);
});

test('one that lives for a day only is warned of six hours before its end', async () => {
  const from = TO - DAY;
  expect(await saidAt([from + DAY / 2], undefined, from)).toEqual([]);
  expect(await saidAt([from + 0.8 * DAY], undefined, from)).toEqual(['40 expires soon']);
});
