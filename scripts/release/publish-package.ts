/**
 * Publishes the npm package of pack.ts with provenance:
 *
 *   node scripts/release/publish-package.ts .tmp/release
 *
 * Runs in a workflow that npm trusts for this package (npm 11.5.1 or later), so there is no token.
 */
import { join, resolve } from 'node:path';
import { readProject } from './project.ts';
import { run } from './run.ts';

const [target] = process.argv.slice(2);
if (target === undefined) throw new Error('usage: node scripts/release/publish-package.ts FOLDER');
const { name, version } = readProject();
const file = join(resolve(target), `${name}-${version}.tgz`);
// `npm install` without a version must not choose a pre-release.
const tag = version.includes('-') ? 'next' : 'latest';
run('npm', 'publish', file, '--provenance', '--access', 'public', '--tag', tag);
