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

/** Codes that other tests see: main.test.ts; of a check without a problem test/e2e/explain-commands.test.ts. */
const SEEN = ['run 0', 'explain 0', 'diff 0', 'simulate 0', 'simulate 3', 'check 0', 'check 3'];
/** completion.test.ts; and nothing is known that would keep a text from being printed. */
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

test('the table of docs/commands.md says of each code what --help says, of all commands', () => {
  expect(table.map(([command]) => command)).toEqual(Object.keys(commands));
  for (const [name, { help }] of Object.entries(commands)) {
    const [, cells = []] = table.find(([command]) => command === name) ?? [];
    const [, sentence = ''] = /\nExit codes: ([\s\S]*?)\.\s/.exec(help) ?? [];
    const told = cells.flatMap((cell, code) => (cell === '' ? [] : [`${code} ${cell}`]));
    expect(told.join(', ')).toBe(sentence.replaceAll('\n', ' '));
  }
});

test('each code in the table, and no other, is seen in a test', () => {
  const told = table.flatMap(([command, cells]) =>
    cells.flatMap((cell, code) => (cell === '' ? [] : [`${command} ${code}`])),
  );
  const refused = REFUSED_COMMANDS.map(([[command = ''], code]) => `${command} ${code}`);
  const known = refused.filter((each) => !each.startsWith('walk'));
  expect(new Set(told)).toEqual(new Set([...known, ...SEEN, ...PRINTED]));
});
