import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { exitCodesOf } from '../../src/commands/command-line/help.ts';
import { COMMANDS } from '../../src/commands/definitions/all.ts';
import { REFUSED_COMMANDS } from '../support/process/refused-commands.ts';

const commands = COMMANDS;

/** Exit codes that other tests check: main.test.ts, test/demo, and test/e2e/explain-commands.test.ts for `check 0`. */
const TESTED = [
  ...['run 0', 'explain 0', 'simulate 0', 'simulate 3', 'check 0', 'check 3'],
  ...['status 0', 'status 3', 'version 0'],
  ...['demo 0', 'demo 1', 'demo 2'],
];

const docs = readFileSync(new URL('../../docs/commands.md', import.meta.url), 'utf8');
// The rest is about kubectl kpw.
const [text = ''] = docs.split('\n## kubectl kpw\n');
const table = [...text.matchAll(/^\| `(\w+)` +((?:\|[^|\n]*){4})\|$/gm)].map(
  ([, command = '', cells = '']) =>
    [
      command,
      cells
        .split('|')
        .slice(1)
        .map((cell) => cell.trim()),
    ] as const,
);

test('the table of docs/commands.md has the same exit codes and texts as --help', () => {
  expect(table.map(([command]) => command)).toEqual(commands.map(({ name }) => name));
  for (const command of commands) {
    const [, cells = []] = table.find(([name]) => name === command.name) ?? [];
    const listed = cells.flatMap((cell, code) => (cell === '' ? [] : [`${code} ${cell}`]));
    expect(listed.join(', ')).toBe(exitCodesOf(command));
  }
});

test('each exit code in the table, and no other, occurs in a test', () => {
  const listed = table.flatMap(([command, cells]) =>
    cells.flatMap((cell, code) => (cell === '' ? [] : [`${command} ${code}`])),
  );
  const refused = REFUSED_COMMANDS.map(([[command = ''], code]) => `${command} ${code}`);
  const names = commands.map(({ name }) => name);
  const known = refused.filter((each) => names.includes(each.split(' ')[0] ?? ''));
  expect(new Set(listed)).toEqual(new Set([...known, ...TESTED]));
});
