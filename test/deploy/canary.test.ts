import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { dump, loadAll } from 'js-yaml';
import { ensureBinaries } from '../e2e/support/binaries.ts';
import { runCommand } from '../e2e/support/run-command.ts';
import { repository } from './support/repository.ts';

mkdirSync(join(repository, '.tmp'), { recursive: true });
const folder = mkdtempSync(join(repository, '.tmp/canary-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function render(name: string, kustomization: object) {
  const api = { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' };
  mkdirSync(join(folder, name));
  writeFileSync(join(folder, name, 'config.yaml'), 'dryRun: true\n');
  writeFileSync(join(folder, name, 'kustomization.yaml'), dump({ ...api, ...kustomization }));
  const { kubectl } = await ensureBinaries(() => {});
  const text = await runCommand(kubectl, ['kustomize', join(folder, name)]);
  // biome-ignore lint/suspicious/noExplicitAny: objects of several kinds
  const objects = loadAll(text) as any[];
  return { objects, daemonSet: objects.find(({ kind }) => kind === 'DaemonSet') };
}

test('a canary has the nodes that the others leave, its own settings, and the same rights', async () => {
  const manifests = '../../../manifests';
  const others = await render('others', {
    resources: [`${manifests}/overlays/kubeadm`],
    components: [`${manifests}/canary/keep-off`],
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
  const nodesOf = ({ daemonSet }: typeof canary) =>
    daemonSet.spec.template.spec.affinity.nodeAffinity
      .requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms;
  const key = 'kube-proxy-wrapper.io/canary';
  expect(nodesOf(others)).toEqual([{ matchExpressions: [{ key, operator: 'DoesNotExist' }] }]);
  expect(nodesOf(canary)).toEqual([{ matchExpressions: [{ key, operator: 'Exists' }] }]);
  // Nothing of the others is in it, so that deleting it leaves them alone.
  const names = ({ objects }: typeof canary) =>
    objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  expect(names(canary).filter((name) => names(others).includes(name))).toEqual([]);
  expect(canary.objects.map(({ kind }) => kind).toSorted()).toEqual([
    ...['ConfigMap', 'ConfigMap', 'DaemonSet'],
  ]);
  const { spec } = canary.daemonSet;
  expect(spec.template.spec.serviceAccountName).toBe('kube-proxy-wrapper');
  expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
  expect(spec.selector.matchLabels).not.toEqual(others.daemonSet.spec.selector.matchLabels);
  const config = spec.template.spec.volumes.find(({ name }: { name: string }) => name === 'config');
  const settings = canary.objects.find(({ metadata }) => metadata.name === config.configMap.name);
  expect(settings.data['config.yaml']).toBe('dryRun: true\n');
});
