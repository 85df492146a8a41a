import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { importsOf } from './support/imports-of.ts';

const ROOT = resolve(import.meta.dirname, '..');

/** What makes a test an integration test: the whole wrapper, and the API server in memory. */
const WHOLES = ['src/proxy/node-proxy.ts', 'fake-apiserver/api-server.ts'].map((path) =>
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

// The paths of `npm test -- PATH` were once taken for further projects, and everything ran.
test('each npm script of a suite takes a path', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    scripts: Record<string, string>;
  };
  const suites = Object.entries(scripts).filter(([, line]) => line.includes('--selectProjects'));
  expect(suites.length).toBeGreaterThan(10);
  const endsList = /--selectProjects \S+ --/;
  expect(suites.filter(([, line]) => !endsList.test(line)).map(([name]) => name)).toEqual([]);
});
