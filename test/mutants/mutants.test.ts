import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readMutants } from './read-mutants.ts';

const ROOT = join(import.meta.dirname, '../..');
const mutants = readMutants();

test('there are at least 100 planted bugs, each with its own description', () => {
  expect(mutants.length).toBeGreaterThanOrEqual(100);
  expect(new Set(mutants.map(({ breaks }) => breaks)).size).toBe(mutants.length);
});

test('the text that each planted bug replaces is in its file exactly once', () => {
  const lost = mutants.filter(
    ({ file, from }) => readFileSync(join(ROOT, file), 'utf8').split(from).length !== 2,
  );
  // Give the row of mutants.yaml the new text.
  expect(lost.map(({ file, breaks, from }) => `${file}: ${breaks}: ${from}`)).toEqual([]);
});

test('each planted bug names tests that exist', () => {
  const paths = globSync('test/**/*.test.ts', { cwd: ROOT });
  const lost = mutants.filter(({ tests }) => !paths.some((path) => new RegExp(tests).test(path)));
  expect(lost.map(({ breaks, tests }) => `${tests}: ${breaks}`)).toEqual([]);
});
