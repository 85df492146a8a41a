import { readFileSync } from 'node:fs';

// package.json is one folder above both this file and the bundle, dist/main.js.
const about = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as Readonly<Record<'version' | 'homepage', string>>;

/** Version of this program. */
export const VERSION = about.version;

/** URL of its documentation. */
export const HOMEPAGE = about.homepage;
