import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

/** Files that a line names; only the end of a path may be given. */
function filesOf({ line }: CommentLine): string[] {
  return [...line.matchAll(/(?<![\w./*-])[\w-][\w./-]*\.tsx?\b/g)].map(([name]) => name);
}

/** Files and folders of its own room that a row in the comment about a room names. */
function entriesOf({ line }: CommentLine): string[] {
  const [, names = ''] = /^ \* {3}((?:[\w-]+(?:\.tsx?|\/),? )+|[\w-]+\.tsx?$)/.exec(line) ?? [];
  return names.split(/,? /).filter((name) => name !== '');
}

// The formatter wraps code, and leaves comments alone.
test(`no line of a comment has more than ${MAX_COLUMNS} columns`, () => {
  expect(COMMENTS.length).toBeGreaterThan(5_000);
  expect(COMMENTS.filter(({ line }) => line.length > MAX_COLUMNS)).toEqual([]);
});

/** A sentence, a default or a parameter whose noun is in another sentence, or nowhere. */
const WITHOUT_NOUN =
  /(?:\/\*\* |\. )(?:Those|That) of\b|(?:[Dd]efault:?|undefined:|absent:|[Ee]mpty:|@param \w+) (?:those|that) of\b/;

test('no comment says "that of" or "those of" without the noun', () => {
  expect(WITHOUT_NOUN.test('/** Default: those of the program. */')).toBe(true);
  expect(COMMENTS.filter(({ line }) => WITHOUT_NOUN.test(line))).toEqual([]);
});

test('a file that a comment names exists', () => {
  const named = COMMENTS.filter((comment) => filesOf(comment).length > 0);
  expect(named.length).toBeGreaterThan(100);
  const isMissing = (name: string) => !FILES.some((file) => `/${file}`.endsWith(`/${name}`));
  expect(named.filter((comment) => filesOf(comment).some(isMissing))).toEqual([]);
});

test('a file or folder that the comment about a room lists is in this room', () => {
  const rows = COMMENTS.filter((comment) => entriesOf(comment).length > 0);
  expect(rows.length).toBeGreaterThan(50);
  const isMissing = (file: string, name: string) =>
    !existsSync(join(repository, dirname(file), name));
  expect(rows.filter((row) => entriesOf(row).some((name) => isMissing(row.file, name)))).toEqual(
    [],
  );
});
