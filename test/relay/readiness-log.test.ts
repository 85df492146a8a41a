import { expect, test } from '@jest/globals';
import { logReadiness } from '../../src/relay/readiness-log.ts';
import { eventually } from '../support/eventually.ts';
import { recordingLogger } from '../support/recording-logger.ts';

/** Level, cause and the first words of each line, for a relay that has these problems one after the other. */
async function saidFor(problems: readonly (string | undefined)[], startMs = 0): Promise<string[]> {
  const { logger, lines } = recordingLogger();
  let problem = problems[0];
  let looks = 0;
  const problemOf = (): string | undefined => {
    looks++;
    return problem;
  };
  const stop = logReadiness(problemOf, logger, { lookMs: 1, startMs });
  for (const next of problems) {
    problem = next;
    const seen = looks;
    await eventually(() => looks > seen + 2, true);
  }
  stop();
  return lines.map(({ err = '', msg }) => `${msg.split(':')[0]} ${err}`.trimEnd());
}

test('the log of a relay says when it is ready, and why it is not, once for each cause', async () => {
  const problems = [undefined, 'lost', 'lost', 'expired', undefined, undefined];
  expect(await saidFor(problems)).toEqual([
    'ready',
    'not ready lost',
    'not ready expired',
    'ready',
  ]);
});

test('a relay that starts is not called unready before it has had time', async () => {
  expect(await saidFor(['not synced yet', undefined], 60_000)).toEqual(['ready']);
  expect(await saidFor(['not synced yet'])).toEqual(['not ready not synced yet']);
});

test('a relay that is ready now and then does not flood the log', async () => {
  const problems = Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? undefined : 'lost'));
  const said = await saidFor(problems);
  expect(said.length).toBeLessThan(12);
  expect(said.at(-1)).toBe('not ready lost');
});
