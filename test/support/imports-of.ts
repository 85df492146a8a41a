import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Imports that load a file at once, and those that load it when it is needed. Imports of types load nothing. */
const AT_ONCE = /^(?:import|export)\b(?! type\b)[^;]*? from '(\.[^']+\.ts)'/gm;
const EVER = /(?: from |\bimport\()'(\.[^']+\.ts)'/g;

/** The file and all files of this project that it loads, however far: at once, or ever. */
export function importsOf(file: string, when: 'at once' | 'ever'): ReadonlySet<string> {
  const found = new Set([file]);
  for (const each of found) {
    const imports = readFileSync(each, 'utf8').matchAll(when === 'ever' ? EVER : AT_ONCE);
    for (const [, path = ''] of imports) found.add(resolve(dirname(each), path));
  }
  return found;
}
