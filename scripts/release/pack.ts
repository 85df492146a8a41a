/**
 * Writes all files of a release to a new folder, without a network and without credentials:
 *
 *   npm run build && node scripts/release/pack.ts .tmp/release
 *
 * $HELM is the helm to use, by default the one in $PATH.
 */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sectionOf } from './changelog.ts';
import { chartFile, stampedChart } from './chart.ts';
import { ROOT, readProject } from './project.ts';
import { run } from './run.ts';
import { type Bom, bomOfBundle } from './sbom.ts';

const [target] = process.argv.slice(2);
if (target === undefined) throw new Error('usage: node scripts/release/pack.ts FOLDER');
const project = readProject();
const folder = resolve(target);
// Not over an earlier one: its files would be published too.
mkdirSync(folder);

const sbom = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
const all = execFileSync('npm', sbom, { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 ** 2 });
const licences = readFileSync(join(ROOT, 'dist/THIRD-PARTY-LICENSES'), 'utf8');
const bom = bomOfBundle(JSON.parse(all) as Bom, project.name, licences);
const bomFile = `${project.name}-${project.version}.cdx.json`;
writeFileSync(join(folder, bomFile), `${JSON.stringify(bom, undefined, 2)}\n`);

const chart = stampedChart(project);
try {
  run(process.env.HELM ?? 'helm', 'package', chart.path, '--destination', folder);
} finally {
  chart.remove();
}
// helm and npm choose the same name.
renameSync(join(folder, `${project.name}-${project.version}.tgz`), chartFile(folder, project));

// --ignore-scripts: dist was built before, and the same files go to the SBOM.
run('npm', 'pack', '--ignore-scripts', '--silent', '--pack-destination', folder);

const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
const notes = sectionOf(changelog, project.version)?.text ?? 'Not released.';
writeFileSync(join(folder, 'notes.md'), `${notes}\n`);

const files = readdirSync(folder).filter((name) => name !== 'notes.md');
const sums = files.sort().map((name) => {
  const sum = createHash('sha256')
    .update(readFileSync(join(folder, name)))
    .digest('hex');
  return `${sum}  ${name}\n`;
});
writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));
