import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import type { KubeObject } from '../api-server/api.ts';
import { runCommand } from '../process/run-command.ts';
import { parseObjects } from './render.ts';
import { repository } from './repository.ts';

/**
 * Renders an installation that has a canary, and its canary, as docs/deployment.md says.
 *
 * @param base folder in manifests/
 * @param settings settings file of the canary
 * @param components of the installation, folders in manifests/
 */
export async function renderCanary(
  kubectl: string,
  base: string,
  settings: string,
  components: readonly string[] = [],
): Promise<{ readonly others: KubeObject[]; readonly canary: KubeObject[] }> {
  mkdirSync(join(repository, '.tmp'), { recursive: true });
  const folder = mkdtempSync(join(repository, '.tmp/canary-'));
  const render = async (name: string, kustomization: object): Promise<KubeObject[]> => {
    const api = { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' };
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'config.yaml'), settings);
    writeFileSync(join(folder, name, 'kustomization.yaml'), dump({ ...api, ...kustomization }));
    return parseObjects(await runCommand(kubectl, ['kustomize', join(folder, name)]));
  };
  const manifests = '../../../manifests';
  try {
    const others = await render('others', {
      resources: [`${manifests}/${base}`],
      components: [...components, 'canary/keep-off'].map((each) => `${manifests}/${each}`),
    });
    const canary = await render('canary', {
      resources: ['../others'],
      components: [`${manifests}/canary/copy`],
      configMapGenerator: [
        {
          name: 'kube-proxy-wrapper',
          namespace: 'kube-system',
          behavior: 'merge',
          files: ['config.yaml'],
        },
      ],
    });
    return { others, canary };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
