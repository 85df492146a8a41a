import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { repository } from '../../harness/deploy/repository.ts';
import { CATALOGUE, type ProblemCode, problem } from '../../src/diagnosis/catalogue.ts';

const FILE = 'src/diagnosis/catalogue.ts';
const SOURCES = globSync('{src,cli,web}/**/*.{ts,tsx}', { cwd: repository })
  .filter((file) => file !== FILE)
  .map((file) => ({ file, text: withoutComments(readFileSync(join(repository, file), 'utf8')) }));
const TESTS = globSync('test/**/*.{test.ts,snap}', {
  cwd: repository,
  exclude: ['test/diagnosis/catalogue.test.ts'],
}).map((file) => readFileSync(join(repository, file), 'utf8'));
const CODES = Object.keys(CATALOGUE) as ProblemCode[];

function withoutComments(text: string): string {
  return text.replaceAll(/^\s*(\/?\*|\/\/).*$/gm, '');
}

/** The files in which a pattern matches. */
function filesWith(pattern: RegExp): string[] {
  return SOURCES.flatMap(({ file, text }) => (pattern.test(text) ? [file] : []));
}

describe('the catalogue of problems', () => {
  test('has no two codes with one text', () => {
    const texts = CODES.map((code) => CATALOGUE[code].text);
    expect(texts.filter((text, at) => texts.indexOf(text) !== at)).toEqual([]);
  });

  test.each(CODES)('%s has a text, and a way out if it is a warning', (code) => {
    const { severity, message, next } = problem(code);
    expect(message).toMatch(/^[^.]+$/);
    expect(next === undefined).toBe(severity === 'info');
    expect(problem(code, 'x')).toMatchObject({ message: `${message}: x`, next });
  });

  test.each(CODES)('%s is found by some code', (code) => {
    const files = filesWith(new RegExp(`'${code}'`)).filter((file) => !file.startsWith('web/'));
    expect(files).not.toEqual([]);
  });

  // A code was named where it is found, under a condition that is never true.
  test.each(CODES)('%s is expected by a test, by its code or text', (code) => {
    const quoted = new RegExp(`['"](?:(?:warning|info) )?${code}['"]`);
    expect(TESTS.some((text) => quoted.test(text) || text.includes(CATALOGUE[code].text))).toBe(
      true,
    );
  });

  test.each(CODES)('%s has no other text anywhere', (code) => {
    expect(filesWith(new RegExp(`['"]?\\b${code}['"]?\\]?:\\s*['"\`]`))).toEqual([]);
    const { text } = CATALOGUE[code];
    expect(filesWith(new RegExp(text.replaceAll(/[()*.]/g, '\\$&')))).toEqual([]);
  });

  test('is the only place where a problem is made', () => {
    expect(filesWith(/severity: 'warning'/)).toEqual([]);
  });
});
