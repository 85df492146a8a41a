import { readFileSync } from 'node:fs';

/**
 * Version of this program, from its package.json: one folder above this file in the sources as well as above the
 * bundle, dist/main.js.
 */
export const VERSION = readVersion();

function readVersion(): string {
  const file = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
