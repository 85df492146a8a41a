import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PLACEHOLDER_IMAGE, type Project, ROOT } from './project.ts';

/** A copy of the chart, until `remove()`. */
export interface StampedChart {
  readonly path: string;
  remove(): void;
}

/** A copy of the chart with the published image, and with links. The chart of the repository names a placeholder. */
export function stampedChart(project: Project): StampedChart {
  const { name, image } = project;
  const parent = mkdtempSync(join(tmpdir(), 'kpw-chart-'));
  // helm wants a folder with the name of the chart.
  const path = join(parent, name);
  cpSync(join(ROOT, 'charts', name), path, { recursive: true });
  const values = join(path, 'values.yaml');
  const text = readFileSync(values, 'utf8');
  if (!text.includes(PLACEHOLDER_IMAGE)) throw new Error(`${values} has no ${PLACEHOLDER_IMAGE}`);
  writeFileSync(values, text.replaceAll(PLACEHOLDER_IMAGE, image));
  appendFileSync(join(path, 'Chart.yaml'), publishedFields(project));
  return { path, remove: () => rmSync(parent, { recursive: true, force: true }) };
}

/** What Chart.yaml lacks. Its last field is `annotations`. */
function publishedFields({ image, version, repository }: Project): string {
  // Artifact Hub cannot find the image itself: the chart renders nothing without the address of an API server.
  return `  artifacthub.io/images: |
    - name: kube-proxy-wrapper
      image: ${image}:${version}
      platforms: [linux/amd64, linux/arm64]
  artifacthub.io/links: |
    - name: support
      url: ${repository}/issues
    - name: Installation
      url: ${repository}/blob/main/docs/deployment.md
    - name: Changes
      url: ${repository}/blob/main/CHANGELOG.md
    - name: Security
      url: ${repository}/blob/main/SECURITY.md
home: ${repository}
sources:
  - ${repository}
`;
}

/** The packed chart in the folder of a release. */
export function chartFile(folder: string, project: Pick<Project, 'name' | 'version'>): string {
  return join(folder, `${project.name}-chart-${project.version}.tgz`);
}
