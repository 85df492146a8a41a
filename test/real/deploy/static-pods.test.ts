import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { KubeObject } from '../../../harness/api-server/api.ts';
import { renderCanary } from '../../../harness/deploy/canary.ts';
import { sectionOf } from '../../../harness/deploy/documents.ts';
import { writeAside } from '../../../harness/deploy/overlay.ts';
import { only, parseObjects } from '../../../harness/deploy/render.ts';
import { readText, repository } from '../../../harness/deploy/repository.ts';
import { ensureBinaries } from '../../../harness/process/binaries.ts';
import { runCommand } from '../../../harness/process/run-command.ts';
import { parseYaml } from '../../../src/text/read-yaml.ts';

type Named = { readonly name: string };

/** Spec of a file in manifests/static-pods. */
function staticPod(name: string): KubeObject['spec'] {
  const pod = only(parseObjects(readText(`manifests/static-pods/${name}.yaml`)), 'Pod', name);
  expect(pod.metadata.namespace).toBe('kube-system');
  return pod.spec;
}

/** With what has names in one order. */
function sorted(spec: KubeObject['spec']): unknown {
  const byName = (list: readonly Named[]) => list.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const containers = (list: readonly KubeObject['spec'][] = []) =>
    list.map((each) => ({ ...each, volumeMounts: byName(each.volumeMounts) }));
  return {
    ...spec,
    containers: containers(spec.containers),
    initContainers: containers(spec.initContainers),
    volumes: byName(spec.volumes),
  };
}

/** The volume of the node's files that stands in for a ConfigMap. */
const nodeFiles = (name: string, path: string) => ({ name, hostPath: { path, type: 'Directory' } });

test('the static Pod of the wrapper differs from the DaemonSet only in the sources of its files and identity', async () => {
  const { kubectl } = await ensureBinaries(() => {});
  const components = ['manifests/components/state', 'manifests/components/local-runtime'];
  const yaml = await writeAside({ components }, async (folder) =>
    runCommand(kubectl, ['kustomize', folder], { cwd: repository }),
  );
  // A static Pod is on the node that has its file.
  const {
    serviceAccountName: _account,
    affinity: _affinity,
    ...spec
  } = only(parseObjects(yaml), 'DaemonSet').spec.template.spec;
  const [container] = spec.containers;
  const [run, config, _handover, ...others] = container.args;
  // For a Pod beside the one before it.
  delete container.startupProbe;
  container.args = [run, config, '--kubeconfig=/etc/kube-proxy-wrapper/kubeconfig', ...others];
  container.env = container.env.filter(({ name }: Named) => name === 'NODE_NAME');
  spec.volumes = spec.volumes.map((each: Named) =>
    each.name === 'config' ? nodeFiles('config', '/etc/kube-proxy-wrapper') : each,
  );
  expect(sorted(staticPod('kube-proxy-wrapper'))).toEqual(sorted(spec));
});

test('the static Pod of kube-proxy differs from that of kubeadm only in the same way', () => {
  const objects = parseObjects(readText('test/real/deploy/fixtures/kubeadm-kube-proxy.yaml'));
  const { serviceAccountName: _account, ...spec } = only(objects, 'DaemonSet').spec.template.spec;
  spec.volumes = spec.volumes.map((each: Named) =>
    each.name === 'kube-proxy' ? nodeFiles('kube-proxy', '/etc/kube-proxy') : each,
  );
  expect(sorted(staticPod('kube-proxy'))).toEqual(sorted(spec));
});

// The wrapper's own DaemonSet stayed on the node, and the static Pod found its ports in use.
test('a node with the label of the recipe has no Pod of a DaemonSet, whatever way it was installed', async () => {
  const { kubectl } = await ensureBinaries(() => {});
  const recipe = sectionOf('docs/operations-cut-off.md', 'static-pods');
  const [, key = '', value] = /kubectl label node edge-1 (\S+)=(\S+)/.exec(recipe) ?? [];
  const isKeptOff = ({ affinity }: KubeObject['spec']) => {
    const terms: { matchExpressions: { key: string; operator: string; values: string[] }[] }[] =
      affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms;
    // A node needs one of the terms only.
    return terms.every(({ matchExpressions }) =>
      matchExpressions.some(
        (each) =>
          each.key === key && each.operator === 'NotIn' && each.values.includes(value ?? ''),
      ),
    );
  };
  for (const overlay of readdirSync(join(repository, 'manifests/overlays'))) {
    if (overlay === 'sidecar') continue;
    const path = `manifests/overlays/${overlay}`;
    const yaml = await runCommand(kubectl, ['kustomize', path], { cwd: repository });
    expect([path, isKeptOff(only(parseObjects(yaml), 'DaemonSet').spec.template.spec)]).toEqual([
      path,
      true,
    ]);
  }
  const { others, canary } = await renderCanary(kubectl, 'overlays/kubeadm', '{}');
  for (const objects of [others, canary]) {
    expect(isKeptOff(only(objects, 'DaemonSet').spec.template.spec)).toBe(true);
  }
  const [patch] = parseYaml(readText('manifests/second-kube-proxy/keep-off.yaml'));
  expect(isKeptOff((patch as KubeObject).spec.template.spec)).toBe(true);
  const [copy] = parseYaml(readText('manifests/second-kube-proxy/copy.yaml'));
  expect((copy as KubeObject).spec.template.spec.nodeSelector[key]).not.toBe(value);
});
