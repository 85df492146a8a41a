import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const text = readFileSync(`${ROOT}docs/architecture.md`, 'utf8');

test('every path that docs/architecture.md names exists', () => {
  const paths = [...text.matchAll(/`((?:src|test|page|embedded|demo|scripts|bench)\/[^`*…]*)`/g)];
  const missing = paths.map(([, path = '']) => path).filter((path) => !existsSync(ROOT + path));
  expect(paths.length).toBeGreaterThan(100);
  expect(missing).toEqual([]);
});

test.each(['topology', 'filter', 'proxy'])('its map has every room of src/%s', (folder) => {
  const [, section = ''] = text.split(`\n### src/${folder}: `);
  const [map = ''] = section.split('\n### ');
  const mapped = [...map.matchAll(/^\| \*\*(\S+)\/\*\* /gm)].map(([, room]) => room);
  const entries = readdirSync(`${ROOT}src/${folder}`, { withFileTypes: true });
  const rooms = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  expect(mapped.sort()).toEqual(rooms.sort());
});

test('each invariant names a test', () => {
  const [, section = ''] = text.split('\n## Invariants\n');
  const [list = ''] = section.split('\n## ');
  const invariants = list.split(/\n(?=\d+\. )/).slice(1);
  expect(invariants.length).toBeGreaterThan(10);
  expect(invariants.filter((each) => !/→\s+`test\/\S+\.test\.ts`/.test(each))).toEqual([]);
});
