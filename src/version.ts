import { readFileSync } from 'node:fs';

// package.json is one folder above both this file and the bundle, dist/main.js.
const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
  readonly repository: { readonly url: string };
};

/** Version of this program. */
export const VERSION = manifest.version;

/** The owner of the repository until scripts/release/set-repository.ts sets the real one. */
const PLACEHOLDER = 'https://github.com/example/';

const repository = manifest.repository.url.replace(/^git\+|[.]git$/g, '');

/** URL of its documentation; undefined: it is not published, and a link would lead nowhere. */
export const HOMEPAGE = repository.startsWith(PLACEHOLDER) ? undefined : `${repository}#readme`;
