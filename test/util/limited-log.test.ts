import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { LimitedLog } from '../../src/util/limited-log.ts';
import { ManualClock } from '../support/clocks.ts';
import { recordingLogger } from '../support/recording-logger.ts';

test('no minute has more than nine lines, the last state is always written, and nothing is left out silently', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(8_000), { minLength: 1, maxLength: 200, size: 'max' }),
      (pauses) => {
        const clock = new ManualClock();
        const { logger, lines } = recordingLogger();
        const times: number[] = [];
        const log = new LimitedLog({ logger, clock });
        for (const [n, pause] of pauses.entries()) {
          log.warn({ n }, 'again');
          while (times.length < lines.length) times.push(clock.now());
          for (let passed = 0; passed < pause; passed += 500) {
            clock.pass(Math.min(500, pause - passed));
            while (times.length < lines.length) times.push(clock.now());
          }
        }
        clock.pass(60_000);
        for (const at of times) {
          expect(times.filter((each) => each >= at && each < at + 60_000).length).toBeLessThan(10);
        }
        expect(lines.at(-1)?.n).toBe(pauses.length - 1);
        const written = lines.reduce((sum, { omitted = 0 }) => sum + 1 + (omitted as number), 0);
        expect(written).toBe(pauses.length);
      },
    ),
  );
});

test('a line that is no longer true is never written, each one that is left out is counted, and the limit remains', () => {
  const step = fc.record({ about: fc.nat(5), forgets: fc.boolean(), pause: fc.nat(8_000) });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 60, size: 'max' }), (steps) => {
      const clock = new ManualClock();
      const { logger, lines } = recordingLogger();
      const times: number[] = [];
      const log = new LimitedLog({ logger, clock });
      const isTrue = new Set<unknown>();
      let writes = 0;
      const look = () => {
        const news = lines.slice(times.length);
        expect(news.filter(({ matter }) => !isTrue.has(matter))).toEqual([]);
        for (const _ of news) times.push(clock.now());
      };
      for (const { about, forgets, pause } of steps) {
        if (forgets) {
          isTrue.delete(about);
          log.forget(`${about}`);
        } else {
          isTrue.add(about);
          writes++;
          log.warn({ matter: about }, 'again', `${about}`);
        }
        look();
        for (let passed = 0; passed < pause; passed += 500) {
          clock.pass(500);
          look();
        }
      }
      clock.pass(120_000);
      log.warn({}, 'the end');
      for (const at of times) {
        expect(times.filter((each) => each >= at && each < at + 60_000).length).toBeLessThan(10);
      }
      const counted = lines.reduce((sum, { omitted = 0 }) => sum + 1 + (omitted as number), 0);
      expect(counted).toBe(writes + 1);
    }),
  );
});
