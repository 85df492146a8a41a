import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isConfigMap } from '../../src/config/settings.ts';
import { WrapperError } from '../../src/errors.ts';
import { parseManifests, readBounded, reading } from '../../src/text/read-yaml.ts';

/** A manifest file, or standard input. */
export interface ManifestText {
  /** For messages. */
  readonly name: string;
  readonly text: string;
}

/** An object in a file, as far as it is read without a schema. */
export interface Manifest {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly items?: unknown;
  readonly metadata?: {
    readonly namespace?: unknown;
    readonly name?: unknown;
    readonly labels?: unknown;
    readonly annotations?: unknown;
  };
  readonly spec?: unknown;
}

const EXTENSIONS = /\.(ya?ml|json)$/i;
const STDIN = 0;
/** How to save what a policy depends on. */
export const SAVE = 'kubectl get nodes,svc,endpointslices -A -o yaml > cluster.yaml';

/**
 * Throws `InvalidSettings` if the files of a flag contain no object of a kind that every cluster has: without
 * EndpointSlices, for example, no Service would have an endpoint.
 */
export function assertAllKinds(
  flag: string,
  paths: readonly string[],
  counts: Readonly<Record<'Node' | 'Service' | 'EndpointSlice', number>>,
): void {
  const missing = Object.entries(counts).find(([, count]) => count === 0);
  if (missing === undefined) return;
  const message = `${flag}: ${namesOf(paths)} contains no ${missing[0]}. Save all kinds with: ${SAVE}`;
  throw new WrapperError('InvalidSettings', message);
}

/** The files, for messages. */
export function namesOf(paths: readonly string[]): string {
  return paths.map((path) => (path === '-' ? 'standard input' : path)).join(', ');
}

/**
 * Reads files, folders (their YAML and JSON files, sorted) and `-`, standard input. Throws `InvalidSettings` for a path
 * that cannot be read and for a folder without manifests.
 *
 * @param advice what to do about such a folder
 */
export function* readManifestFiles(
  paths: readonly string[],
  recursive: boolean,
  advice = '',
): Generator<ManifestText> {
  for (const path of paths) {
    if (path === '-') {
      const name = 'standard input';
      yield { name, text: reading(name, () => readBounded(STDIN)) };
      continue;
    }
    const isFolder = reading(path, () => statSync(path).isDirectory());
    const files = isFolder ? reading(path, () => filesIn(path, recursive, advice)) : [path];
    for (const file of files) {
      yield { name: file, text: reading(file, () => readBounded(file)) };
    }
  }
}

/**
 * Whether a file has settings of the wrapper: a mapping without a kind, or their ConfigMap, which the settings refuse.
 *
 * @param ifEmpty whether a file with comments only is one: it would have the default settings
 */
export function isSettingsFile(path: string, ifEmpty: boolean): boolean {
  // A pipe can be read only once.
  if (path === '-' || !reading(path, () => statSync(path).isFile())) return false;
  const [first] = reading(path, () => parseManifests(readBounded(path)));
  if (first === undefined) return ifEmpty;
  if (typeof first !== 'object' || first === null) return false;
  return !('kind' in first || 'items' in first) || isConfigMap(first);
}

function filesIn(folder: string, recursive: boolean, advice: string): string[] {
  const names = readdirSync(folder, { recursive, encoding: 'utf8' });
  const files = names.filter((name) => EXTENSIONS.test(name)).sort();
  if (files.length > 0) return files.map((name) => join(folder, name));
  throw new Error(`the folder has no .yaml, .yml or .json file${advice}`);
}
