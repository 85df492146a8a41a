import { expect, test } from '@jest/globals';
import { COMMANDS } from '../../src/commands/definitions/all.ts';
import { REFUSED_COMMANDS } from '../support/process/refused-commands.ts';

/** Exit codes that other tests check: main.test.ts, simulate-command.integration.test.ts, test/demo, and test/e2e/explain-commands.test.ts for `check 0`. */
const TESTED = [
  ...['run 0', 'explain 0', 'simulate 0', 'simulate 3', 'check 0', 'check 3'],
  ...['status 0', 'status 3', 'version 0', 'demo 0', 'demo 1', 'demo 2'],
];

test('each exit code in --help, and no other, occurs in a test', () => {
  const listed = COMMANDS.flatMap(({ name, exits }) =>
    Object.keys(exits).map((code) => `${name} ${code}`),
  );
  const refused = REFUSED_COMMANDS.map(([[command = ''], code]) => `${command} ${code}`);
  const names = COMMANDS.map(({ name }) => name);
  const known = refused.filter((each) => names.includes(each.split(' ')[0] ?? ''));
  expect(new Set(listed)).toEqual(new Set([...known, ...TESTED]));
});
