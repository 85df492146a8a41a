import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { only, parseObjects } from '../../../../harness/deploy/render.ts';
import { repository } from '../../../../harness/deploy/repository.ts';
import { ensureHelm } from '../../../../harness/deploy/tools.ts';
import { runCommand } from '../../../../harness/process/run-command.ts';
import { readProject } from '../../../../scripts/release/project.ts';
import { useFolder } from '../../../support/use-folder.ts';

const project = readProject();
const { name, version } = project;

let helm: string;
let folder: string;

/** What the job `pack` of the release workflow does. */
beforeAll(async () => {
  helm = await ensureHelm();
  folder = join(useFolder(), 'release');
  await runCommand('npm', ['run', 'build'], { cwd: repository });
  const pack = join(repository, 'scripts/release/pack.ts');
  await runCommand(process.execPath, [pack, folder], { env: { HELM: helm } });
}, 600_000);

test('a release has the package, the chart, the SBOM, their checksums and notes', () => {
  expect(readdirSync(folder).sort()).toEqual([
    'SHA256SUMS',
    `${name}-${version}.cdx.json`,
    `${name}-${version}.tgz`,
    `${name}-chart-${version}.tgz`,
    'notes.md',
  ]);
  const sums = readFileSync(join(folder, 'SHA256SUMS'), 'utf8').trim().split('\n');
  expect(sums).toHaveLength(3);
  for (const line of sums) {
    const [sum, file = ''] = line.split('  ');
    const bytes = readFileSync(join(folder, file));
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sum);
  }
});

test('the packed chart uses the published image without any value', async () => {
  const chart = join(folder, `${name}-chart-${version}.tgz`);
  const args = ['template', name, chart, '--set', 'apiServer.host=api-server.example.com'];
  const objects = parseObjects(await runCommand(helm, args));
  const { containers } = only(objects, 'DaemonSet').spec.template.spec;
  expect(containers[0].image).toBe(`${project.image}:${version}`);
  const shown = await runCommand(helm, ['show', 'chart', chart]);
  expect(shown).toContain(`image: ${project.image}:${version}\n`);
  expect(shown).toContain(`home: ${project.repository}\n`);
  expect(shown).toContain(`url: ${project.repository}/blob/main/SECURITY.md\n`);
});

test('the SBOM lists what the bundle contains, with purls', () => {
  const text = readFileSync(join(folder, `${name}-${version}.cdx.json`), 'utf8');
  const { bomFormat, components } = JSON.parse(text);
  expect(bomFormat).toBe('CycloneDX');
  const names = components.map((each: { name: string }) => each.name);
  expect(names).toEqual(expect.arrayContaining(['@kubernetes/client-node', 'pino', 'valibot']));
  expect(names).not.toContain('jest');
  for (const { purl } of components) expect(purl).toMatch(/^pkg:npm\/.+@\d/);
});

test('an earlier release is not overwritten', async () => {
  const pack = join(repository, 'scripts/release/pack.ts');
  await expect(runCommand(process.execPath, [pack, folder])).rejects.toThrow('EEXIST');
});
