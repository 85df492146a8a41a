import { beforeAll, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { KubeObject } from '../../../harness/api-server/api.ts';
import type { ControlPlane } from '../../../harness/api-server/control-plane.ts';
import {
  describeAccepted,
  expectAccepted,
  type Rendered,
} from '../../../harness/deploy/accepted.ts';
import { rightsOf } from '../../../harness/deploy/account.ts';
import { writeAside } from '../../../harness/deploy/overlay.ts';
import { startBarePlane } from '../../../harness/deploy/plane.ts';
import {
  components,
  kustomizations,
  kustomize,
  only,
  parseObjects,
} from '../../../harness/deploy/render.ts';
import { readText } from '../../../harness/deploy/repository.ts';
import { ensureTools, type Tools } from '../../../harness/deploy/tools.ts';
import { loadCredentials } from '../../../src/client/credentials/credentials.ts';
import { stoppedLater } from '../../support/closed-later.ts';

let tools: Tools;
let plane: ControlPlane;

beforeAll(async () => {
  tools = await ensureTools();
  plane = stoppedLater(await startBarePlane());
}, 600_000);

/** How each set of objects that we ship comes about. */
const rendered: readonly Rendered[] = [
  ...kustomizations().map((path): Rendered => [path, async () => await kustomize(tools, path)]),
  ...components().map(
    (path): Rendered => [
      `manifests/base with ${path}`,
      async () => await writeAside({ components: [path] }, (aside) => kustomize(tools, aside)),
    ],
  ),
  [
    'manifests/static-pods',
    async () =>
      ['kube-proxy-wrapper', 'kube-proxy']
        .map((name) => readText(`manifests/static-pods/${name}.yaml`))
        .join('---\n'),
  ],
];

describeAccepted(rendered, () => plane);

test.each([
  ['kubeedge', 'kube-proxy-wrapper', 'http://127.0.0.1:10550/'],
  ['kubeadm', 'kube-proxy-via-wrapper', 'http://127.0.0.1:10360/'],
])(
  'the kubeconfig of the overlay %s, in the ConfigMap %s, can be used',
  async (overlay, name, url) => {
    const objects = parseObjects(await kustomize(tools, `manifests/overlays/${overlay}`));
    const found = objects.find(
      ({ metadata, data }) =>
        metadata.name.startsWith(name) && data?.['kubeconfig.conf'] !== undefined,
    );
    await writeAside({ text: found?.data['kubeconfig.conf'] }, async (kubeconfig) => {
      const credentials = await loadCredentials({ kubeconfig, logger: pino({ level: 'silent' }) });
      expect(credentials.servers.map(({ href }) => href)).toEqual([url]);
      credentials.close();
    });
  },
);

test('an unknown field is found', async () => {
  const yaml = (await kustomize(tools, 'manifests/base')).replace('hostNetwork', 'hostNetwrok');
  await expect(expectAccepted(plane, yaml)).rejects.toThrow('hostNetwrok');
});

describe("kubeadm's kube-proxy", () => {
  const path = '/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy';
  const patch = async (file: string) => {
    const args = ['--namespace', 'kube-system', 'patch', 'daemonset', 'kube-proxy'];
    await plane.kubectl([...args, '--patch-file', `manifests/overlays/${file}`]);
  };
  const setStrategy = async (type: string) => {
    const args = ['--namespace', 'kube-system', 'patch', 'daemonset', 'kube-proxy', '--patch'];
    await plane.kubectl([...args, JSON.stringify({ spec: { updateStrategy: { type } } })]);
  };
  const template = async () => (await plane.admin.get(path)).spec.template.spec;
  let before: Awaited<ReturnType<typeof template>>;

  beforeAll(async () => {
    const fixture = readText('test/real/deploy/fixtures/kubeadm-kube-proxy.yaml');
    await plane.kubectl(['apply', '--server-side', '-f', '-'], fixture);
    before = await template();
  });

  const volume = async (name: string) =>
    (await template()).volumes.find((each: { name: string }) => each.name === name);

  test('is pointed at the wrapper, keeps its own settings, and can be pointed back', async () => {
    await patch('kubeadm/point-kube-proxy.yaml');
    expect((await plane.admin.get(path)).spec.updateStrategy).toEqual({ type: 'OnDelete' });
    const { configMap, projected } = await volume('kube-proxy');
    expect(configMap).toBeUndefined();
    const sources = projected.sources.map(({ configMap: each }: { configMap: object }) => each);
    expect(sources).toEqual([
      { name: 'kube-proxy', items: [{ key: 'config.conf', path: 'config.conf' }] },
      {
        name: 'kube-proxy-via-wrapper',
        items: [{ key: 'kubeconfig.conf', path: 'kubeconfig.conf' }],
      },
    ]);
    await setStrategy('RollingUpdate');
    await patch('kubeadm/point-kube-proxy-back.yaml');
    expect(await template()).toEqual(before);
    // Node by node, too.
    expect((await plane.admin.get(path)).spec.updateStrategy).toEqual({ type: 'OnDelete' });
  });

  test('takes the wrapper as a sidecar, and gives it up again', async () => {
    await patch('sidecar/patch.yaml');
    const { initContainers, containers } = await template();
    const [ownStateDir, sidecar] = initContainers;
    const base = await baseContainer();
    expect(initContainers).toHaveLength(2);
    expect(containers).toEqual(before.containers);
    expect(withoutSidecar(sidecar)).toEqual(withPodContext(base));
    expect(ownStateDir.command).toEqual(base.ownStateDir.command);
    expect((await volume('kube-proxy')).projected.sources).toHaveLength(2);
    await setStrategy('RollingUpdate');
    await patch('sidecar/patch-back.yaml');
    expect(await template()).toEqual(before);
    expect((await plane.admin.get(path)).spec.updateStrategy).toEqual({ type: 'OnDelete' });
  });

  test('has a copy for the nodes that the first one does not select', async () => {
    const get = ['--namespace', 'kube-system', 'get', 'daemonset', 'kube-proxy', '-o', 'yaml'];
    const first = await plane.kubectl(get);
    const patchFile = 'manifests/second-kube-proxy/copy.yaml';
    const make = ['patch', '--local', '-f', '-', '--patch-file', patchFile, '-o', 'yaml'];
    const copy = await plane.kubectl(make, first);
    await plane.kubectl(['apply', '--server-side', '-f', '-'], copy);
    await patch('../second-kube-proxy/keep-off.yaml');
    const { selector, template: second } = (await plane.admin.get(`${path}-via-wrapper`)).spec;
    expect(selector.matchLabels).toEqual({ 'k8s-app': 'kube-proxy-via-wrapper' });
    expect(second.metadata.labels).toEqual(selector.matchLabels);
    const { nodeSelector: _nodes, affinity: _others, volumes, ...rest } = second.spec;
    expect({ ...before, ...rest }).toEqual(before);
    expect(volumes.slice(1)).toEqual(before.volumes.slice(1));
    expect(volumes[0].projected.sources[1].configMap.name).toBe('kube-proxy-via-wrapper');
  });

  test('in the sidecar the ServiceAccount of kube-proxy has all rights of ours', async () => {
    const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
    const theirs = await plane.admin.get(`${roles}/system:node-proxier`);
    const ours = only(parseObjects(await kustomize(tools, 'manifests/base')), 'ClusterRole');
    const has = rightsOf(theirs.rules);
    for (const right of rightsOf(ours.rules)) expect(has).toContainEqual(right);
  });

  /** The container of the base with its state on disk, as the API server completes it. */
  async function baseContainer() {
    const yaml = await writeAside({ components: ['manifests/components/state'] }, (path) =>
      kustomize(tools, path),
    );
    const args = ['apply', '--server-side', '--dry-run=server', '-o', 'yaml', '-f', '-'];
    const objects = parseObjects(await plane.kubectl(args, yaml));
    const [list] = objects as unknown as [{ items: KubeObject[] }];
    const { spec } = only(list.items, 'DaemonSet').spec.template;
    const [container] = spec.containers;
    const [ownStateDir] = spec.initContainers;
    return { container, ownStateDir, pod: spec.securityContext };
  }
});

// biome-ignore lint/suspicious/noExplicitAny: a container
type Container = any;

/** Without what only a sidecar has, and without names that only a hash tells apart. */
function withoutSidecar({ restartPolicy, startupProbe, ...container }: Container): Container {
  expect([restartPolicy, startupProbe.httpGet.path]).toEqual(['Always', '/healthz']);
  const [config, state] = container.volumeMounts;
  const volumeMounts = [
    { ...state, name: 'state' },
    { ...config, name: 'config' },
  ];
  return { ...container, volumeMounts };
}

/** With the Pod's security context of the base moved to the container. */
function withPodContext({ container, pod }: { container: Container; pod: object }): Container {
  const { startupProbe: _forRollOuts, ...rest } = container;
  const text = JSON.stringify({
    ...rest,
    args: container.args.filter((arg: string) => !arg.startsWith('--handover-seconds=')),
    securityContext: { ...pod, ...container.securityContext },
  });
  return JSON.parse(text.replaceAll(/(kube-proxy-wrapper-api-server)-[a-z0-9]{10}/g, '$1'));
}
