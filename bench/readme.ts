import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const path = join(import.meta.dirname, 'README.md');

/** Replaces the results in bench/README.md that an npm script wrote; throws if they have lost their marks. */
export function writeResults(script: string, section: string): void {
  writeFileSync(path, replaceResults(readFileSync(path, 'utf8'), script, section));
}

/** Replaces what stands between the marks of an npm script's results. */
export function replaceResults(text: string, script: string, section: string): string {
  const mark = `<!-- results: written by npm run ${script} -- --write -->`;
  const begin = text.indexOf(mark);
  const end = text.indexOf('<!-- end of results -->', begin);
  if (begin < 0 || end < 0) throw new Error(`the marks of the results of ${script} are lost`);
  return `${text.slice(0, begin + mark.length)}\n\n${section}\n\n${text.slice(end)}`;
}
