import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { repository } from '../../../harness/deploy/repository.ts';

function textOf(pattern: string): string {
  const files = globSync(pattern, { cwd: repository }).sort();
  return files.map((file) => readFileSync(join(repository, file), 'utf8')).join('\n');
}

/** The texts of status lines, as the source has them: the words of each between what is put in. */
const TEXTS = Array.from(
  textOf('{src/admin/status,cli/remote}/*.ts').matchAll(
    /(?:Line\(\s*'[\w-]+',\s*|const text =\s*)(['`])(.*?)\1/g,
  ),
  ([, , text = '']) => text.split(/\$\{[^}]*\}?/).filter((words) => words.trim().length > 8),
);

// A line that no test shows passed everything.
test('each text of a status line is in a test, or in what a command prints there', () => {
  const shown = textOf('test/{admin,cli}/**/*.{ts,snap}').replaceAll('\\', '');
  expect(TEXTS.length).toBeGreaterThan(30);
  expect(TEXTS.flat().filter((words) => !shown.includes(words.trim()))).toEqual([]);
});
