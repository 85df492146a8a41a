import { expect, test } from '@jest/globals';
import type { KubeObject } from '../../../harness/api-server/api.ts';
import { writeAside } from '../../../harness/deploy/overlay.ts';
import { only, parseObjects } from '../../../harness/deploy/render.ts';
import { readText, repository } from '../../../harness/deploy/repository.ts';
import { ensureBinaries } from '../../../harness/process/binaries.ts';
import { runCommand } from '../../../harness/process/run-command.ts';

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
  const { serviceAccountName: _account, ...spec } = only(parseObjects(yaml), 'DaemonSet').spec
    .template.spec;
  const [container] = spec.containers;
  const [run, config, _handover, ...others] = container.args;
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
