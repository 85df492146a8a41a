import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { Option } from 'commander';
import type { Command, Program } from '../../cli/command-line/command.ts';
import { parseCommandLine } from '../../cli/command-line/command-line.ts';
import { KUBE_PROXY_WRAPPER } from '../../cli/definitions/all.ts';
import { KUBECTL_KPW } from '../../cli/definitions/remote.ts';
import { WARNINGS } from '../../src/diagnosis/catalogue.ts';
import { importsOf } from '../support/imports-of.ts';

function helpOf({ name }: Command, program: Program): string {
  const line = parseCommandLine(program, [name, '--help']);
  return 'text' in line ? line.text : '';
}

test('docs/commands.md has each command', () => {
  const text = readFileSync(new URL('../../docs/commands.md', import.meta.url), 'utf8');
  const listed = [...text.matchAll(/^\| `(\w+)` /gm)].map(([, name]) => name);
  const names = KUBE_PROXY_WRAPPER.commands.map(({ name }) => name);
  expect(listed.slice(0, names.length)).toEqual(names);
});

test('docs/commands.md has each warning with its text', () => {
  const text = readFileSync(new URL('../../docs/commands.md', import.meta.url), 'utf8');
  const [, section = ''] = text.split('### Warnings\n');
  const listed = [...(section.split('\n#')[0]?.matchAll(/^- `([\w-]+)`: (.*)$/gm) ?? [])];
  expect(listed.map(([, code, about]) => [code, about])).toEqual(
    Object.entries(WARNINGS).map(([code, { text }]) => [code, text]),
  );
});

test.each([KUBE_PROXY_WRAPPER, KUBECTL_KPW])(
  '$name: no command has two flags of one name or letter, and each flag is in --help',
  (program) => {
    for (const command of program.commands) {
      const flags = [...command.flags, new Option('-h, --help')];
      const names = flags.map((flag) => flag.name());
      const letters = flags.flatMap(({ short }) => short ?? []);
      expect([command.name, names, letters]).toEqual([
        command.name,
        [...new Set(names)],
        [...new Set(letters)],
      ]);
      const help = helpOf(command, program);
      for (const { long, hidden } of command.flags)
        if (!hidden) expect(help).toMatch(new RegExp(`^ {2}(-\\w, )?${long}\\b`, 'm'));
      expect(help).not.toContain('{program}');
      expect(help).toContain(`${program.name} ${command.name}`);
      expect(help).toMatch(/\nExamples:\n(.+\n)+\nExit codes:\n {2}0 /);
    }
  },
);

test('the wrapper does not load the plugin of kubectl', () => {
  const isRemote = (file: string) => file.includes('/cli/remote/');
  const [wrapper, plugin] = ['main', 'kubectl-kpw'].map((name) =>
    [...importsOf(resolve(import.meta.dirname, `../../cli/${name}.ts`), 'ever')].filter(isRemote),
  );
  expect(wrapper).toEqual([]);
  expect(plugin?.length).toBeGreaterThan(5);
});
