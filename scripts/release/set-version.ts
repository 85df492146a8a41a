/**
 * Sets the version of package, chart, manifests and documents:
 *
 *   node scripts/release/set-version.ts 1.1.0
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, readManifest } from './project.ts';
import { replaceVersion, VERSIONED_FILES } from './versioned-files.ts';

const [next = ''] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(next)) {
  throw new Error('usage: node scripts/release/set-version.ts VERSION, such as 1.1.0 or 1.2.0-dev');
}
const { name, version } = readManifest();
for (const file of VERSIONED_FILES) {
  const path = join(ROOT, file);
  writeFileSync(path, replaceVersion(readFileSync(path, 'utf8'), { name, version, next }));
}
console.log(`${version} is now ${next}. Set the title of the section in CHANGELOG.md yourself.`);
