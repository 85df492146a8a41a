import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { KUBE_PROXY_WRAPPER } from '../../cli/definitions/all.ts';
import { KUBECTL_KPW } from '../../cli/definitions/remote.ts';
import { settingsSchema } from '../../src/config/settings-schema.ts';

/** The words of all texts of each test file. */
const TESTS = globSync('test/**/*.test.ts', { exclude: ['test/cli/flags.test.ts'] }).map((file) => {
  const texts = readFileSync(file, 'utf8').matchAll(/'[^'\n]*'|"[^"\n]*"|`[^`\n]*`/g);
  return new Set([...texts].flatMap(([text]) => text.split(/[\s'"`=]+/)));
});

/** Flags that are settings: test/config/node-proxy-options.test.ts has another value of each. */
const [, { entries: SETTINGS }] = settingsSchema.pipe;

/** Each flag with the commands that have it. Commands share what one definition says. */
const FLAGS = Map.groupBy(
  [KUBE_PROXY_WRAPPER, KUBECTL_KPW].flatMap(({ commands }) =>
    commands.flatMap(({ name, flags }) =>
      flags.filter(({ hidden }) => !hidden).map((flag) => ({ name, flag })),
    ),
  ),
  ({ flag }) => `${flag.flags}: ${flag.description}`,
);

// Nothing else finds a flag that does nothing.
test.each([...FLAGS])('a test has a command line with %s', (_, uses) => {
  const isUsed = ({ name, flag }: (typeof uses)[number]) =>
    flag.attributeName() in SETTINGS ||
    TESTS.some((words) => {
      const forms = [flag.long, flag.short].filter((form) => form !== undefined);
      return words.has(name) && forms.some((form) => words.has(form));
    });
  expect(uses.some(isUsed)).toBe(true);
});
