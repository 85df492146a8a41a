import { readFileSync } from 'node:fs';

/**
 * Version of this program, from package.json. That file is one folder above both this file and the bundle,
 * dist/main.js.
 */
export const VERSION = readVersion();

function readVersion(): string {
  const file = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
