import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from './repository.ts';

/** What {@link writeAside} writes: some text, or a kustomization of the base with components. */
export type Aside = { readonly text: string } | { readonly components: readonly string[] };

/**
 * Writes a file, or a kustomization, into a folder of its own for as long as `use` takes. The folder is in the
 * repository, for kustomize takes no absolute paths.
 */
export async function writeAside<T>(what: Aside, use: (path: string) => Promise<T>): Promise<T> {
  mkdirSync(join(repository, '.tmp'), { recursive: true });
  const folder = mkdtempSync(join(repository, '.tmp/aside-'));
  try {
    if ('text' in what) {
      const file = join(folder, 'file');
      writeFileSync(file, what.text);
      return await use(file);
    }
    const kustomization = {
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      resources: ['../../manifests/base'],
      components: what.components.map((path) => `../../${path}`),
    };
    writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
