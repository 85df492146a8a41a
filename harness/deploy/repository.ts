import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The root of the repository. */
export const repository = resolve(import.meta.dirname, '../..');

/** Text of a file, by its path from the root. */
export function readText(path: string): string {
  return readFileSync(join(repository, path), 'utf8');
}
