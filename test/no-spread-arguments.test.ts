import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { repository } from '../harness/deploy/repository.ts';
import { useFolder } from './support/use-folder.ts';

/** With 125,000 endpoints of invented Pods, /metrics broke off and /status answered 500. */
const MESSAGE = 'A list as arguments throws if it is long';

/** The lines of a file that the linter refuses for a list as arguments. */
function refusedIn(file: string, text: string): number[] {
  const root = useFolder();
  for (const name of ['biome.json', 'scripts', 'node_modules']) {
    symlinkSync(join(repository, name), join(root, name));
  }
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
  const program = join(repository, 'node_modules/.bin/biome');
  const options = ['lint', '--vcs-enabled=false', '--reporter=github', file];
  const { stdout } = spawnSync(program, options, { cwd: root, encoding: 'utf8' });
  const found = stdout.split('\n').filter((line) => line.includes(MESSAGE));
  return found.map((line) => Number(/,line=(\d+),/.exec(line)?.[1]));
}

const CALLS = [
  'export const a = Math.min(...list);',
  'list.push(0, ...others);',
  'export const b = new Set(...(list as never));',
  'list.push(\n  ...others.map((each) => each),\n);',
];
const NO_CALLS = [
  'export const c = f([...list]);',
  'export const d = f({ ...list });',
  'export const e = (...all: number[]) => all;',
];

test.each(['src/a/b.ts', 'cli/c.ts'])('the linter refuses lists as arguments in %s', (file) => {
  expect(refusedIn(file, [...NO_CALLS, ...CALLS].join('\n'))).toEqual([4, 5, 6, 8]);
});

test('a test may use them', () => {
  expect(refusedIn('test/a.test.ts', CALLS.join('\n'))).toEqual([]);
});
