import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatContext, formatTable, type Results } from './report.ts';

const BEGIN = '<!-- results: written by npm run bench -- --write -->';
const END = '<!-- end of results -->';

/** Replaces the results in bench/README.md. */
export function writeResults(results: Results): void {
  const path = join(import.meta.dirname, 'README.md');
  const text = readFileSync(path, 'utf8');
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin)
    throw new Error('bench/README.md has lost the marks of its results');
  const section = `${formatContext(results)}\n\n${formatTable(results.measures)}`;
  const head = text.slice(0, begin + BEGIN.length);
  writeFileSync(path, `${head}\n\n${section}\n\n${text.slice(end)}`);
}
