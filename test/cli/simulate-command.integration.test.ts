import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { KUBE_PROXY_WRAPPER } from '../../cli/definitions/all.ts';
import type { Finding } from '../../cli/simulate/findings.ts';
import { formatFindings } from '../../cli/simulate/format-findings.ts';
import { runInProcess } from '../support/remote/run-in-process.ts';
import { useFolder } from '../support/use-folder.ts';

const EXAMPLE = new URL('../../demo/cluster.yaml', import.meta.url).pathname;
const simulate = (...args: string[]) =>
  runInProcess(KUBE_PROXY_WRAPPER, ['simulate', '--from', EXAMPLE, ...args]);

function file(name: string, content: string): string {
  const path = join(useFolder(), name);
  writeFileSync(path, content);
  return path;
}

test('docs/commands.md has what simulate prints about the example', async () => {
  const { pathname } = new URL('../../docs/commands.md', import.meta.url);
  const command = '$ kube-proxy-wrapper simulate --from demo/cluster.yaml\n';
  const [, block = ''] = readFileSync(pathname, 'utf8').split(command);
  const [printed = '', ...rest] = block.split('…\n');
  expect(rest).not.toEqual([]);
  expect(await simulate()).toMatchObject({ code: 3, out: expect.stringContaining(printed) });
});

const CONFIG_MAP = 'kind: ConfigMap\ndata: {config.yaml: "dryRun: true"}\n';

test.each<[what: string, args: () => string[], code: number, message: string]>([
  ['a Service in another Namespace', () => ['shop/web'], 1, 'Did you mean default/web?'],
  ['a Service with another letter', () => ['default/wbe'], 1, 'Did you mean default/web?'],
  [
    'a preset with a missing letter',
    () => ['--preset', 'prefer-same-zon'],
    2,
    'Did you mean prefer-same-zone?',
  ],
  [
    'a file in the place of a Service',
    () => ['cluster.yaml'],
    2,
    'cluster.yaml is not a Service; read a file with --from cluster.yaml',
  ],
  [
    'a ConfigMap in the place of settings',
    () => ['--config', file('cm.yaml', CONFIG_MAP)],
    1,
    "save what is in its data: kubectl get configmap NAME -o jsonpath='{.data.config\\.yaml}'",
  ],
  [
    'a ConfigMap to compare with',
    () => ['--against', file('cm.yaml', CONFIG_MAP)],
    1,
    'cm.yaml is a ConfigMap, not settings; save what is in its data',
  ],
])('the error about %s says what to do', async (_, args, code, message) => {
  const printed = await simulate(...args());
  expect(printed).toMatchObject({ code, err: expect.stringContaining(message) });
});

test('a Service that is like no other has no suggestion', async () => {
  const { err } = await simulate('default/something');
  expect(err).toMatch(/there is no Service default\/something that kube-proxy watches\n$/);
});

describe('simulate --diff compares settings', () => {
  // It once compared --config with itself: "no node would see a difference".
  test('--config alone is compared with the default settings', async () => {
    const config = file('new.yaml', 'defaultTopologyKeys: same-zone-only\n');
    const { code, out } = await simulate('--config', config, '--diff');
    expect(out).toMatch(/^compared with the default settings:\n/);
    expect(out).toMatch(/^default\/plain +edge-1/m);
    expect(code).toBe(3);
  });

  test('--against compares with other settings, even without --diff', async () => {
    const [old, next] = [
      file('old.yaml', 'defaultTopologyKeys: same-zone-only\n'),
      file('next.yaml', 'defaultTopologyKeys: [kubernetes.io/hostname]\n'),
    ];
    const { out } = await simulate('--config', next, '--against', old);
    expect(out).toMatch(/^compared with the settings of .*old\.yaml:\n/);
    expect(out).toMatch(/default\/plain/);
    const same = await simulate('--config', old, '--against', old);
    expect(same).toMatchObject({
      code: 0,
      out: expect.stringContaining('no node would see a difference'),
    });
  });

  test('with other manifests --config applies to both sides', async () => {
    const config = file('both.yaml', 'defaultTopologyKeys: same-zone-only\n');
    const moved = readFileSync(EXAMPLE, 'utf8').replace(/(name: edge-1\b[\s\S]*?site: )a/, '$1b');
    const old = file('moved.yaml', moved);
    const { out } = await simulate('--config', config, '--diff', '--against', old);
    expect(out).not.toMatch(/default\/plain/);
    expect(out).toMatch(/^default\/db +edge-1/m);
  });

  // A file of comments was once an empty cluster, and settings beside manifests were dropped.
  test.each([
    ['a file of comments', 1, ['# none\n'], /--against: .*0.yaml contains no Node. Save all kinds/],
    [
      'settings among others',
      2,
      ['{"items":[]}', 'dryRun: true\n'],
      /1.yaml has settings; give it/,
    ],
  ])('--against refuses %s', async (_, code, contents, err) => {
    const files = contents.map((content, n) => ['--against', file(`${n}.yaml`, content)]);
    const refused = await simulate('--diff', ...files.flat());
    expect(refused).toMatchObject({ code, err: expect.stringMatching(err) });
  });

  test('--diff without anything to compare is refused', async () => {
    expect(await simulate('--diff')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--diff has nothing to compare; give --against'),
    });
  });
});

describe('many findings of one kind', () => {
  const many = (code: Finding['code'], severity: Finding['severity'], count: number): Finding[] =>
    Array.from({ length: count }, (_, n) => ({
      code,
      severity,
      message: `m${n}`,
      subjects: [],
      service: `default/s${n}`,
    }));

  // 10,000 Services once made 7,400 lines.
  test('are one line with their number and the first names', () => {
    const text = formatFindings(many('no-endpoint', 'info', 7_400));
    expect(text).toBe(
      'i 7400 Services: no endpoint left on some nodes (no-endpoint): default/s0, default/s1, default/s2 and 7397 more; all are in -o json\n',
    );
  });

  test('a few are a line each, and kinds are not mixed', () => {
    const text = formatFindings([
      ...many('no-endpoint', 'warning', 20),
      ...many('invalid-policy', 'warning', 21),
      ...many('no-endpoint', 'info', 5),
    ]);
    expect(text.match(/^ {4}next: /gm)).toHaveLength(2);
    const lines = text
      .trimEnd()
      .replaceAll(/^ {4}next: .*\n/gm, '')
      .split('\n');
    expect(lines).toHaveLength(20 + 1 + 5);
    expect(lines[20]).toMatch(/^! 21 Services: the policy is invalid/);
  });

  // An annotation that was removed is neither misspelt nor does it contradict another.
  test('ignored annotations may be removed ones', () => {
    const text = formatFindings(many('annotation-ignored', 'warning', 21));
    expect(text).toMatch(/annotation is ignored, because it is misspelt, removed or contradicts/);
  });
});

describe('topology hints', () => {
  const hinted = (annotations: string) => `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: edge-1}}
- {apiVersion: v1, kind: Service, metadata: {name: web, annotations: {${annotations}}}, spec: {clusterIP: 10.0.0.1}}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  endpoints: [{addresses: [10.1.0.1], nodeName: edge-1, zone: a, hints: {forZones: [{name: a}]}}]
`;

  test('of an unfiltered Service are mentioned, because kube-proxy itself chooses by them', async () => {
    const path = file('hints.yaml', hinted(''));
    const { out } = await runInProcess(KUBE_PROXY_WRAPPER, ['simulate', '--from', path]);
    expect(out).toContain('1/1 unfiltered, hints');
    expect(out).toMatch(/^hints: .* kube-proxy itself may use only those/m);
  });

  test('of a filtered Service are cut, so they are not', async () => {
    const path = file('cut.yaml', hinted('topologyKeys: \'["*"]\''));
    const { out } = await runInProcess(KUBE_PROXY_WRAPPER, ['simulate', '--from', path]);
    expect(out).not.toContain('hints');
  });
});

// Without EndpointSlices each Service once had no endpoint anywhere, and CI was green.
test.each(['Node', 'Service', 'EndpointSlice'])(
  'an input without a %s is refused',
  async (kind) => {
    const others = readFileSync(EXAMPLE, 'utf8').replace(
      new RegExp(`kind: ${kind}$`, 'gm'),
      'kind: X',
    );
    const path = file('partial.yaml', others);
    expect(await runInProcess(KUBE_PROXY_WRAPPER, ['simulate', '--from', path])).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        `--from: .*partial.yaml contains no ${kind}. Save all kinds with: kubectl get nodes,svc,`,
      ),
    });
  },
);

describe('which Services', () => {
  test.each([
    [['-n', 'kube-system'], ['kube-system/dns']],
    [['-n', 'kube-system', '--service', 'dns'], ['kube-system/dns']],
    [['-n', 'default', '--service', 'web'], ['default/web']],
  ])('%j', async (args, names) => {
    const { out } = await simulate(...args, '-o', 'json');
    const { services } = JSON.parse(out);
    expect(services.map(({ service }: { service: string }) => service)).toEqual(names);
  });

  test('-o json has each answer with its nodes', async () => {
    const { out } = await simulate('svc/nearby-only', '-o', 'json');
    const [{ answers }] = JSON.parse(out).services;
    expect(answers.map(({ nodes }: { nodes: string[] }) => nodes)).toEqual([
      ['edge-1'],
      ['edge-2'],
      ['edge-3', 'cloud-1', 'cloud-2'],
    ]);
  });
});
