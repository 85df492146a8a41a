import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { createNode } from '../../../../harness/api-server/cluster-objects.ts';
import type { ControlPlane } from '../../../../harness/api-server/control-plane.ts';
import { startBarePlane } from '../../../../harness/deploy/plane.ts';
import { readText, repository } from '../../../../harness/deploy/repository.ts';
import { type ChartTools, ensureChartTools } from '../../../../harness/deploy/tools.ts';
import { runCommand } from '../../../../harness/process/run-command.ts';
import { stoppedLater } from '../../../support/closed-later.ts';
import { useFolder } from '../../../support/use-folder.ts';

/** In the order in which their commands run. */
const PAGES = [
  'deployment',
  'deployment-sidecar',
  'deployment-helm',
  'deployment-systemd',
  'deployment-edge',
  'identity',
];

/** Blocks of shell commands that say of themselves that they are tried. */
const blocks = PAGES.flatMap((page) =>
  [...readText(`docs/${page}.md`).matchAll(/<!-- tried -->\n+```sh\n([\s\S]*?)```/g)].map(
    ([, commands = '']): [string, string] => [commands.trim().split('\n', 1)[0] ?? '', commands],
  ),
);

let tools: ChartTools;
let plane: ControlPlane;
let folder: string;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  tools = await ensureChartTools();
  plane = stoppedLater(await startBarePlane());
  await createNode(plane.admin, 'edge-1');
  const fixture = readText('test/real/deploy/fixtures/kubeadm-kube-proxy.yaml');
  await plane.kubectl(['apply', '--server-side', '-f', '-'], fixture);
  folder = useFolder();
  for (const each of ['manifests', 'charts']) {
    cpSync(join(repository, each), join(folder, each), { recursive: true });
  }
  environment = { KUBECONFIG: plane.kubeconfig('admin'), PATH: installTools(join(folder, 'bin')) };
}, 600_000);

/** Puts kubectl and helm on a path. */
function installTools(bin: string): string {
  mkdirSync(bin);
  symlinkSync(tools.helm, join(bin, 'helm'));
  // There is no kubelet, so nothing is rolled out. For `rollout status` the test only checks that the object exists.
  const script = `#!/bin/sh
case "$*" in *"rollout status"*) set -- "$1" "$2" get "$5" ;; esac
exec ${tools.kubectl} "$@"
`;
  writeFileSync(join(bin, 'kubectl'), script);
  chmodSync(join(bin, 'kubectl'), 0o755);
  return `${bin}:${process.env.PATH}`;
}

test('the documents have commands to try', () => {
  expect(blocks.length).toBeGreaterThan(10);
});

// In their order: each builds on those before it.
test.each(blocks)('%s', async (_first, commands) => {
  const script = `set -eu\n${commands}`;
  await runCommand('bash', ['-c', script], { cwd: folder, env: environment });
});

test.each([
  [
    'the sidecar',
    'kube-proxy',
    'kubectl -n kube-system patch daemonset kube-proxy --patch-file manifests/overlays/sidecar/patch.yaml',
    'kubectl -n kube-system patch daemonset kube-proxy --patch-file manifests/overlays/sidecar/patch-back.yaml',
  ],
  [
    'a second kube-proxy',
    'kube-proxy-via-wrapper',
    `kubectl -n kube-system get daemonset kube-proxy -o yaml > kube-proxy.yaml
     kubectl patch --local -f kube-proxy.yaml --patch-file manifests/second-kube-proxy/copy.yaml -o yaml |
       kubectl apply --server-side -f -`,
    'kubectl -n kube-system delete daemonset kube-proxy-via-wrapper',
  ],
])(
  'the patches for https fit %s too',
  async (_what, name, there, back) => {
    const patch = (file: string) =>
      `kubectl -n kube-system patch daemonset ${name} --patch-file ${file}`;
    const options = { cwd: folder, env: environment };
    const volumes = async () => {
      const path = `/apis/apps/v1/namespaces/kube-system/daemonsets/${name}`;
      return (await plane.admin.get(path)).spec.template.spec.volumes as { name: string }[];
    };
    await runCommand('bash', ['-c', `set -eu\n${there}`], options);
    const before = (await volumes()).length;
    await runCommand('bash', ['-c', patch('manifests/https/point-kube-proxy.yaml')], options);
    expect(await volumes()).toContainEqual({
      name: 'kube-proxy-wrapper-https',
      hostPath: { path: '/var/lib/kube-proxy-wrapper', type: '' },
    });
    await runCommand('bash', ['-c', patch('manifests/https/point-kube-proxy-back.yaml')], options);
    expect((await volumes()).length).toBe(before);
    await runCommand('bash', ['-c', back], options);
  },
  60_000,
);

test('after each way of installing and removing the wrapper, kube-proxy is as kubeadm set it up', async () => {
  const { spec } = await plane.admin.get(
    '/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy',
  );
  expect(spec.template.spec.initContainers).toBeUndefined();
  expect(spec.template.spec.affinity).toBeUndefined();
  expect(spec.template.spec.containers[0].volumeMounts).toHaveLength(3);
  expect(spec.template.spec.volumes[0]).toEqual({
    name: 'kube-proxy',
    configMap: { name: 'kube-proxy', defaultMode: 420 },
  });
});
