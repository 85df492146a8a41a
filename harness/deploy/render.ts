import { globSync } from 'node:fs';
import { dirname } from 'node:path';
import { loadAll } from 'js-yaml';
import type { KubeObject } from '../api-server/api.ts';
import { runCommand } from '../process/run-command.ts';
import { repository } from './repository.ts';
import type { ChartTools, Tools } from './tools.ts';

/** Folders below manifests/ that can be applied: bases and overlays, not components. */
export function kustomizations(): string[] {
  const files = globSync('manifests/{base,overlays/*}/kustomization.yaml', { cwd: repository });
  return files.map((file) => dirname(file)).sort();
}

/** Folders of the components. */
export function components(): string[] {
  const files = globSync('manifests/components/*/kustomization.yaml', { cwd: repository });
  return files.map((file) => dirname(file)).sort();
}

/** YAML of a kustomization. */
export async function kustomize(tools: Tools, folder: string): Promise<string> {
  return await runCommand(tools.kubectl, ['kustomize', folder], { cwd: repository });
}

/** YAML of the chart. `values` are of --set, `files` of --values. */
export async function helmTemplate(
  tools: ChartTools,
  values: readonly string[],
  files: readonly string[] = [],
  flags: readonly string[] = [],
): Promise<string> {
  const args = ['template', 'kube-proxy-wrapper', 'charts/kube-proxy-wrapper', ...flags];
  args.push('--namespace', 'kube-system');
  for (const value of values) args.push('--set', value);
  for (const file of files) args.push('--values', file);
  return await runCommand(tools.helm, args, { cwd: repository });
}

/** Objects of some YAML. */
export function parseObjects(yaml: string): KubeObject[] {
  return loadAll(yaml).filter((each) => each !== null && each !== undefined) as KubeObject[];
}

/** The only object of a kind, and of a name if given. Throws if there are none or several. */
export function only(objects: readonly KubeObject[], kind: string, name?: string): KubeObject {
  const found = objects.filter(
    (each) => each.kind === kind && (name === undefined || each.metadata.name === name),
  );
  const [object] = found;
  if (object === undefined || found.length > 1) {
    throw new Error(`there are ${found.length} objects ${kind} ${name ?? ''}`);
  }
  return object;
}
