import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { checkCommand } from '../../src/commands/check.ts';
import { createCompletionCommand } from '../../src/commands/completion.ts';
import { diffCommand } from '../../src/commands/diff.ts';
import { explainCommand } from '../../src/commands/explain.ts';
import { runCommand } from '../../src/commands/run-command.ts';
import { simulateCommand } from '../../src/commands/simulate.ts';
import { REFUSED_COMMANDS } from '../support/process/refused-commands.ts';

const commands = {
  run: runCommand,
  explain: explainCommand,
  diff: diffCommand,
  simulate: simulateCommand,
  check: checkCommand,
  completion: createCompletionCommand({}),
};

/** Exit codes that other tests check: main.test.ts, and test/e2e/explain-commands.test.ts for `check 0`. */
const TESTED = ['run 0', 'explain 0', 'diff 0', 'simulate 0', 'simulate 3', 'check 0', 'check 3'];
/** Checked by completion.test.ts. No test makes printing fail. */
const PRINTED = ['completion 0', 'completion 1'];

const text = readFileSync(new URL('../../docs/commands.md', import.meta.url), 'utf8');
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
  expect(table.map(([command]) => command)).toEqual(Object.keys(commands));
  for (const [name, { help }] of Object.entries(commands)) {
    const [, cells = []] = table.find(([command]) => command === name) ?? [];
    const [, sentence = ''] = /\nExit codes: ([\s\S]*?)\.\s/.exec(help) ?? [];
    const listed = cells.flatMap((cell, code) => (cell === '' ? [] : [`${code} ${cell}`]));
    expect(listed.join(', ')).toBe(sentence.replaceAll('\n', ' '));
  }
});

test('each exit code in the table, and no other, occurs in a test', () => {
  const listed = table.flatMap(([command, cells]) =>
    cells.flatMap((cell, code) => (cell === '' ? [] : [`${command} ${code}`])),
  );
  const refused = REFUSED_COMMANDS.map(([[command = ''], code]) => `${command} ${code}`);
  const known = refused.filter((each) => !each.startsWith('walk'));
  expect(new Set(listed)).toEqual(new Set([...known, ...TESTED, ...PRINTED]));
});
