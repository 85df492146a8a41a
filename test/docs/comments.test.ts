import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { repository } from '../../harness/deploy/repository.ts';

const SOURCE = '{src,cli,web,demo,fake-apiserver,scripts,harness,test,bench}/**/*.{ts,tsx}';
const FILES = globSync(SOURCE, { cwd: repository });
const MAX_COLUMNS = 120;

interface CommentLine {
  readonly file: string;
  /** The whole line, with its indentation. */
  readonly line: string;
}

const COMMENTS: readonly CommentLine[] = FILES.flatMap((file) =>
  readFileSync(join(repository, file), 'utf8')
    .split('\n')
    .filter((line) => /^\s*(\/?\*|\/\/)/.test(line))
    .map((line) => ({ file, line })),
);

// The formatter wraps code, and leaves comments alone.
test(`no line of a comment has more than ${MAX_COLUMNS} columns`, () => {
  expect(COMMENTS.length).toBeGreaterThan(5_000);
  expect(COMMENTS.filter(({ line }) => line.length > MAX_COLUMNS)).toEqual([]);
});
