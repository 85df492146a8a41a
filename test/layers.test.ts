import { existsSync, globSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { parseArguments, SUITES } from '../scripts/test.ts';
import { importsOf } from './support/imports-of.ts';

const ROOT = resolve(import.meta.dirname, '..');

/** What makes a test an integration test: the whole wrapper, and the API server in memory. */
const WHOLES = ['src/server/node-proxy.ts', 'fake-apiserver/api-server.ts'].map((path) =>
  resolve(ROOT, path),
);

const tests = globSync('test/**/*.test.ts', { cwd: ROOT }).map((path) => resolve(ROOT, path));

interface Project {
  readonly displayName: string;
  readonly testRegex?: string | readonly string[];
  readonly testPathIgnorePatterns?: readonly string[];
}

const CONFIG: string = '../jest.config.js';
const { projects } = ((await import(CONFIG)) as { default: { projects: readonly Project[] } })
  .default;

/** Files of a suite of jest.config.js. */
function suite(name: string): string[] {
  const project = projects.find(({ displayName }) => displayName === name);
  const { testRegex = '', testPathIgnorePatterns = [] } = project ?? {};
  const isOneOf = (patterns: readonly string[], file: string) =>
    patterns.some((each) => new RegExp(each.replace('<rootDir>', ROOT)).test(file));
  return tests.filter(
    (file) => isOneOf([testRegex].flat(), file) && !isOneOf(testPathIgnorePatterns, file),
  );
}

const loadsWhole = (file: string, when: 'at once' | 'ever') => {
  const imports = importsOf(file, when);
  return WHOLES.some((whole) => imports.has(whole));
};

test('a unit test does not load the whole wrapper or an API server at once', () => {
  const files = suite('unit');
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((file) => loadsWhole(file, 'at once'))).toEqual([]);
});

test('an integration test loads one of them, at once or later', () => {
  const files = suite('integration');
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((file) => !loadsWhole(file, 'ever'))).toEqual([]);
});

// Paths were once taken for further projects, and everything ran.
test.each(Object.keys(SUITES))('npm test %s takes a path', (name) => {
  const { jest } = parseArguments([name, 'some/path', '--verbose']);
  expect(jest.slice(-3)).toEqual(['--verbose', '--testPathPatterns', 'some/path']);
  expect(jest.indexOf('some/path')).toBeGreaterThan(jest.indexOf('--selectProjects') + 1);
});

test('npm test takes a path without a suite', () => {
  const fast = ['--selectProjects', 'unit', 'integration', 'slow'];
  expect(parseArguments(['a', 'b']).jest).toEqual([...fast, '--testPathPatterns', 'a', 'b']);
  expect(parseArguments([]).jest).toEqual(['--selectProjects', 'unit']);
});

// test/cli once ran test/client too.
test.each([
  ['test/cli', 'test/cli/'],
  ['test/cli/', 'test/cli/'],
  ['test/layers.test.ts', 'test/layers.test.ts'],
  ['client/snap', 'client/snap'],
  ['(cli|run)/main', '(cli|run)/main'],
])('npm test %s runs what matches %s', (pattern, matched) => {
  expect(parseArguments([pattern]).jest.at(-1)).toBe(matched);
  expect(parseArguments(['unit', pattern]).jest.at(-1)).toBe(matched);
});

test('each suite has a folder, or a project of its own', () => {
  const roots = Object.values(SUITES).map(({ project, root }) => project ?? root ?? 'none');
  expect(new Set(roots).size).toBe(roots.length);
  for (const { root = 'test' } of Object.values(SUITES))
    expect(existsSync(join(ROOT, root))).toBe(true);
});
