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
