import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PLACEHOLDER_IMAGE, type Project, ROOT } from './project.ts';

/** A copy of the chart, until `remove()`. */
export interface StampedChart {
  readonly path: string;
  remove(): void;
}

/** A copy of the chart that uses the published image. The chart in the repository names a placeholder. */
export function stampedChart({ name, image }: Pick<Project, 'name' | 'image'>): StampedChart {
  const parent = mkdtempSync(join(tmpdir(), 'kpw-chart-'));
  // helm wants a folder with the name of the chart.
  const path = join(parent, name);
  cpSync(join(ROOT, 'charts', name), path, { recursive: true });
  for (const file of ['Chart.yaml', 'values.yaml']) {
    const text = readFileSync(join(path, file), 'utf8');
    if (!text.includes(PLACEHOLDER_IMAGE)) throw new Error(`${file} has no ${PLACEHOLDER_IMAGE}`);
    writeFileSync(join(path, file), text.replaceAll(PLACEHOLDER_IMAGE, image));
  }
  return { path, remove: () => rmSync(parent, { recursive: true, force: true }) };
}

/** The packed chart in the folder of a release. */
export function chartFile(folder: string, project: Pick<Project, 'name' | 'version'>): string {
  return join(folder, `${project.name}-chart-${project.version}.tgz`);
}
