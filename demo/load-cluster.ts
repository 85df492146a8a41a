import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { assertAllKinds, readManifestFiles, SAVE } from '../cli/simulate/manifest-files.ts';
import type { ApiServer } from '../fake-apiserver/api-server.ts';
import { WrapperError } from '../src/errors.ts';

/** The cluster that comes with the program. The path is the same from demo/ and from dist/. */
export const EXAMPLE = fileURLToPath(new URL('../demo/cluster.yaml', import.meta.url));

/**
 * Loads YAML or JSON files, folders and `-`, standard input. Returns the number of objects of each kind that the demo
 * does not use, such as Secrets: they are ignored. Throws a WrapperError that names the file and what to do.
 */
export function loadCluster(
  server: ApiServer,
  paths: readonly string[],
): ReadonlyMap<string, number> {
  const ignored = new Map<string, number>();
  const onUnknownKind = (kind: string) => ignored.set(kind, (ignored.get(kind) ?? 0) + 1);
  for (const path of paths) {
    if (path !== '-' && !existsSync(path)) {
      throw invalid(`--cluster: there is no file ${path}. Save your cluster with: ${SAVE}`);
    }
  }
  for (const { name, text } of readManifestFiles(
    paths,
    false,
    `. Save your cluster with: ${SAVE}`,
  )) {
    try {
      server.loadYaml(text, { onUnknownKind });
    } catch (cause) {
      const { message } = WrapperError.from(cause, 'InvalidSettings');
      throw invalid(`--cluster: cannot use ${name}: ${message}`, cause);
    }
  }
  assertAllKinds('--cluster', paths, {
    Node: server.list('nodes').length,
    Service: server.list('services').length,
    EndpointSlice: server.list('endpointslices').length,
  });
  return ignored;
}

/** One line about the objects that were ignored; empty: none. */
export function formatIgnored(ignored: ReadonlyMap<string, number>): string {
  if (ignored.size === 0) return '';
  const kinds = [...ignored].sort(([, a], [, b]) => b - a);
  const shown = kinds.slice(0, 5).map(([kind, count]) => `${count} ${kind}`);
  const more = kinds.length > shown.length ? ' and other kinds' : '';
  return `ignored, because no policy depends on them: ${shown.join(', ')}${more}`;
}

function invalid(message: string, cause?: unknown): WrapperError {
  return new WrapperError('InvalidSettings', message, { cause });
}
