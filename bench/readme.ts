import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Marks around what a program writes. */
const MARKS = {
  results: ['<!-- results: written by npm run bench -- --write -->', '<!-- end of results -->'],
  kubeProxy: [
    '<!-- kube-proxy: written by npm run bench:kube-proxy -- --write -->',
    '<!-- end of kube-proxy -->',
  ],
  breakEven: [
    '<!-- break-even: written by npm run bench:kube-proxy -- --break-even --write -->',
    '<!-- end of break-even -->',
  ],
  growth: ['<!-- growth: written by npm run bench:growth -- --write -->', '<!-- end of growth -->'],
} as const;

/** Replaces a section of bench/README.md. */
export function writeSection(section: keyof typeof MARKS, content: string): void {
  const path = join(import.meta.dirname, 'README.md');
  const text = readFileSync(path, 'utf8');
  const [beginMark, endMark] = MARKS[section];
  const [begin, end] = [text.indexOf(beginMark), text.indexOf(endMark)];
  if (begin < 0 || end < begin) {
    throw new Error(`bench/README.md has lost the marks of its ${section}`);
  }
  const head = text.slice(0, begin + beginMark.length);
  writeFileSync(path, `${head}\n\n${content}\n\n${text.slice(end)}`);
}
