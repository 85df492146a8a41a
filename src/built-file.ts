import { readFile } from 'node:fs/promises';

/**
 * Reads a JSON file that scripts/build-page.ts has made in dist/. This file and the bundles are both one folder below
 * the folder that contains dist/.
 */
export async function readBuiltFile<T>(name: string): Promise<T> {
  return JSON.parse(await readFile(new URL(`../dist/${name}`, import.meta.url), 'utf8')) as T;
}
