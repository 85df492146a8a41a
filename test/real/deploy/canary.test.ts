import { expect, test } from '@jest/globals';
import type { KubeObject } from '../../../harness/api-server/api.ts';
import { renderCanary } from '../../../harness/deploy/canary.ts';
import { only } from '../../../harness/deploy/render.ts';
import { ensureBinaries } from '../../../harness/process/binaries.ts';

test('a canary has the nodes that the others leave, its own settings, and the same rights', async () => {
  const { kubectl } = await ensureBinaries(() => {});
  const { others, canary } = await renderCanary(kubectl, 'overlays/kubeadm', 'dryRun: true\n');
  const nodesOf = (objects: readonly KubeObject[]) =>
    only(objects, 'DaemonSet').spec.template.spec.affinity.nodeAffinity
      .requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms;
  const key = 'kube-proxy-wrapper.io/canary';
  const notStatic = {
    key: 'kube-proxy-wrapper.io/kube-proxy',
    operator: 'NotIn',
    values: ['static'],
  };
  const term = (operator: string) => ({ matchExpressions: [{ key, operator }, notStatic] });
  expect(nodesOf(others)).toEqual([term('DoesNotExist')]);
  expect(nodesOf(canary)).toEqual([term('Exists')]);
  // Nothing of the others is in it, so that deleting it leaves them alone.
  const names = (objects: readonly KubeObject[]) =>
    objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  expect(names(canary).filter((name) => names(others).includes(name))).toEqual([]);
  expect(canary.map(({ kind }) => kind).toSorted()).toEqual([
    'ConfigMap',
    'ConfigMap',
    'DaemonSet',
  ]);
  const { spec } = only(canary, 'DaemonSet');
  expect(spec.template.spec.serviceAccountName).toBe('kube-proxy-wrapper');
  expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
  expect(spec.selector.matchLabels).not.toEqual(
    only(others, 'DaemonSet').spec.selector.matchLabels,
  );
  const config = spec.template.spec.volumes.find(({ name }: { name: string }) => name === 'config');
  const settings = only(canary, 'ConfigMap', config.configMap.name);
  expect(settings.data['config.yaml']).toBe('dryRun: true\n');
});

// A copy of the relays would listen on the ports of the others, and answer half of the connections of every site.
test.each(['components/relay', 'components/admission-policy', 'components/scrape'])(
  'a canary adds nothing to %s',
  async (component) => {
    const { kubectl } = await ensureBinaries(() => {});
    const plain = await renderCanary(kubectl, 'base', 'dryRun: true\n');
    const { others, canary } = await renderCanary(kubectl, 'base', 'dryRun: true\n', [component]);
    const names = (objects: readonly KubeObject[]) =>
      objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(names(canary)).toEqual(names(plain.canary));
    expect(others).not.toEqual(plain.others);
  },
);
