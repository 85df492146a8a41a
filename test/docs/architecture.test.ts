import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { DOCUMENTS, readDocument, sectionOf } from '../../harness/deploy/documents.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const text = readDocument('docs/architecture.md');

/** Files and folders of the repository that a document names. */
function pathsOf(page: string): string[] {
  const named = readDocument(page).matchAll(
    /`((?:src|cli|test|harness|web|fake-apiserver|demo|scripts|bench|manifests|charts|image)\/[^`*…\s]*)`/g,
  );
  return Array.from(named, ([, path = '']) => path);
}

test.each(DOCUMENTS)('every path that %s names exists', (page) => {
  expect(pathsOf(page).filter((path) => !existsSync(ROOT + path))).toEqual([]);
});

test('docs/architecture.md names paths, and docs/reading.md fourteen files', () => {
  expect(pathsOf('docs/architecture.md').length).toBeGreaterThan(50);
  const numbered = readDocument('docs/reading.md').match(/^\d+\. `src\/\S+\.ts`/gm) ?? [];
  expect(numbered.length).toBe(14);
});

test.each(['topology', 'filter', 'client', 'node', 'server'])(
  'its map has every room of src/%s',
  (folder) => {
    const [, section = ''] = text.split(`\n### src/${folder}: `);
    const [map = ''] = section.split('\n### ');
    const mapped = [...map.matchAll(/^- \*\*(\S+)\/\*\*: /gm)].map(([, room]) => room);
    const entries = readdirSync(`${ROOT}src/${folder}`, { withFileTypes: true });
    const rooms = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    expect(mapped.sort()).toEqual(rooms.sort());
  },
);

test('its map has every folder of src', () => {
  const folders = readdirSync(`${ROOT}src`, { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  const isMapped = (path: string) =>
    text.includes(`\n| \`${path}/\` `) || text.includes(`\n### ${path}: `);
  expect(folders.map(({ name }) => `src/${name}`).filter((path) => !isMapped(path))).toEqual([]);
});

test('each invariant names a test', () => {
  const [, section = ''] = text.split('\n## Invariants\n');
  const [list = ''] = section.split('\n## ');
  const invariants = list.split(/\n(?=\d+\. )/).slice(1);
  expect(invariants.length).toBeGreaterThan(10);
  expect(invariants.filter((each) => !/→\s+`test\/\S+\.test\.ts`/.test(each))).toEqual([]);
});

test('each row of the comparison and of "When things fail" in README names a test', () => {
  const promises = ['why-not-something-else', 'when-things-fail'].flatMap((anchor) =>
    firstCells(sectionOf('README.md', anchor)),
  );
  expect(promises.length).toBeGreaterThan(10);
  const rows = sectionOf('docs/architecture.md', 'what-readme-promises').split('\n');
  const proven = rows.filter((row) => row.includes('`test/'));
  expect(promises.filter((each) => !proven.some((row) => row.startsWith(`- ${each}: `)))).toEqual(
    [],
  );
  expect(proven).toHaveLength(promises.length);
});

/** First cells of the rows of a table, without its header. */
function firstCells(section: string): string[] {
  const cells = Array.from(section.matchAll(/^\| ([^|]+?) +\|/gm), ([, cell = '']) => cell);
  return cells.filter((cell) => !/^[- ]*$/.test(cell) && cell !== 'what happens');
}
