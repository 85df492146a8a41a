/**
 * Sets the address of the repository in every file that names it, and in generated ones:
 *
 *   node scripts/release/set-repository.ts https://github.com/<owner>/kube-proxy-wrapper
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectOf, ROOT, readManifest } from './project.ts';
import { replaceRepository } from './repository-names.ts';

const [address = ''] = process.argv.slice(2);
const manifest = readManifest();
const repository = { ...manifest.repository, url: `git+${address}.git` };
const from = projectOf(manifest);
const to = projectOf({ ...manifest, repository });
// All tracked text files, so that a new one needs no entry in a list; except those that know the placeholder.
const ours = ['--', '.', ':!scripts/release', ':!test/scripts/release'];
const files = execFileSync('git', ['grep', '-Ilz', '', ...ours], { cwd: ROOT, encoding: 'utf8' });
for (const file of files.split('\0').filter((name) => name !== '')) {
  const path = join(ROOT, file);
  const text = readFileSync(path, 'utf8');
  const replaced = replaceRepository(text, from, to);
  if (replaced === text) continue;
  writeFileSync(path, replaced);
  console.log(file);
}
// The chart has copies of the alerts.
await import('../write-settings.ts');
