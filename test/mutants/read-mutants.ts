import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';

/** A planted bug of mutants.yaml. */
export interface Mutant {
  readonly file: string;
  /** Pattern of the paths of the tests that must find it. */
  readonly tests: string;
  /** What the bug breaks. */
  readonly breaks: string;
  /** A text that the file has exactly once. */
  readonly from: string;
  /** What replaces it. */
  readonly to: string;
}

interface MutatedFile extends Pick<Mutant, 'file' | 'tests'> {
  readonly bugs: readonly Omit<Mutant, 'file' | 'tests'>[];
}

export function readMutants(): Mutant[] {
  const text = readFileSync(join(import.meta.dirname, 'mutants.yaml'), 'utf8');
  return (load(text) as MutatedFile[]).flatMap(({ file, tests, bugs }) =>
    bugs.map((bug) => ({ file, tests, ...bug })),
  );
}
