import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { dump } from 'js-yaml';
import { loadSettings } from '../../src/config/settings.ts';
import type { KubeObject } from '../e2e/support/api.ts';
import { runCommand } from '../e2e/support/run-command.ts';
import { normalize } from './support/normalize.ts';
import { helmTemplate, kustomize, only, parseObjects } from './support/render.ts';
import { readText, repository } from './support/repository.ts';
import { everySetting } from './support/settings.ts';
import { ensureTools, type Tools } from './support/tools.ts';

let tools: Tools;
let folder: string;

beforeAll(async () => {
  tools = await ensureTools();
  folder = mkdtempSync(join(tmpdir(), 'kpw-chart-'));
}, 600_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const host = 'apiServer.host=api-server.example.com';

async function render(values: object, ...set: string[]): Promise<KubeObject[]> {
  const file = join(folder, 'values.yaml');
  writeFileSync(file, dump(values));
  return parseObjects(await helmTemplate(tools, [host, ...set], [file]));
}

function container(objects: readonly KubeObject[]) {
  return only(objects, 'DaemonSet').spec.template.spec.containers[0];
}

test('helm lint finds nothing to say, also against the schema', async () => {
  const args = ['lint', '--strict', 'charts/kube-proxy-wrapper', '--set', host];
  const said = await runCommand(tools.helm, args, { cwd: repository });
  expect(said).toContain('1 chart(s) linted, 0 chart(s) failed');
  expect(said).not.toMatch(/WARNING|ERROR/);
});

test('the chart and the image are of the version of the package', () => {
  const { version } = JSON.parse(readText('package.json')) as { version: string };
  expect(readText('charts/kube-proxy-wrapper/Chart.yaml')).toContain(`\nversion: ${version}\n`);
  expect(readText('charts/kube-proxy-wrapper/Chart.yaml')).toContain(`\nappVersion: ${version}\n`);
  expect(readText('manifests/base/kustomization.yaml')).toContain(`newTag: ${version}\n`);
  expect(readText('manifests/overlays/sidecar/patch.yaml')).toContain(`wrapper:${version}\n`);
});

describe('with default values the result is that of kustomize', () => {
  test.each<[string, object, string]>([
    ['manifests/base', {}, 'api-server.example.com'],
    [
      'manifests/overlays/kubeadm',
      { kubeProxyKubeconfig: { create: true } },
      'control-plane.example.com',
    ],
  ])('%s', async (path, values, address) => {
    const chart = await render(values, `apiServer.host=${address}`);
    const plain = parseObjects(await kustomize(tools, path));
    expect(normalize(chart)).toEqual(normalize(plain));
  });
});

describe('values', () => {
  test('without the address of the API server nothing is rendered, with the reason', async () => {
    await expect(helmTemplate(tools, [])).rejects.toThrow("the API server's real address");
  });

  test.each([
    ['settings.lisen=127.0.0.1:1', "'lisen' not allowed"],
    ['settings.listen=10.0.0.1:10360', 'settings/listen'],
    ['settings.logLevel=loud', 'settings/logLevel'],
    ['settings.cloud.mode=hide', 'settings/cloud/mode'],
    ['settings.maxViews=0', 'settings/maxViews'],
    ['settings.serviceFilter.label=a', "'mode'"],
    ['apiserver.host=a', "'apiserver' not allowed"],
  ])('%s is refused by the schema', async (value, reason) => {
    await expect(helmTemplate(tools, [host, value])).rejects.toThrow(reason);
  });

  test('the schema knows every setting, and none that the wrapper does not', () => {
    const schema = JSON.parse(readText('charts/kube-proxy-wrapper/values.schema.json'));
    const known = keysOf(schema.properties.settings);
    // The node's name is the Pod's, and no setting of the chart.
    const { nodeName, ...wanted } = everySetting;
    expect(known).toEqual(pathsOf(wanted));
    // The wrapper takes them all, and has no default for another one.
    loadSettings({}, {}, writeSettings(everySetting));
    const { edge: _selector, ...defaults } = loadSettings({ nodeName }, {}, undefined);
    const { listen, adminListen, defaultTopologyKeys: keys, ...plain } = defaults;
    expect([listen?.port, adminListen.port, keys]).toEqual([10_360, 10_361, { keys: [] }]);
    expect(pathsOf(everySetting)).toEqual(expect.arrayContaining(pathsOf(plain)));
  });

  test('every setting at once is rendered as it is, and can be loaded', async () => {
    const { nodeName, kubeconfig: _path, ...settings } = everySetting;
    const objects = await render({ settings });
    const { data } = only(objects, 'ConfigMap');
    const file = join(folder, 'config.yaml');
    writeFileSync(file, data['config.yaml']);
    const loaded = loadSettings({ nodeName }, {}, file);
    expect(loaded).toEqual(loadSettings({ nodeName }, {}, writeSettings(settings)));
    expect(container(objects).readinessProbe.httpGet).toEqual({
      host: '127.0.0.2',
      port: 10_371,
      path: '/readyz',
    });
  });

  test('settings that need a right bring it', async () => {
    const rights = async (settings: object) =>
      only(await render({ settings }), 'ClusterRole').rules.flatMap(
        ({ resources }: { resources: string[] }) => resources,
      );
    expect(await rights({})).not.toContain('namespaces');
    expect(await rights({ namespacePolicies: true })).toContain('namespaces');
    expect(await rights({ communities: { fabedgeCluster: 'a' } })).toContain('communities');
  });

  test('a kubeconfig takes the place of the address', async () => {
    const kubeconfig = readText('manifests/overlays/kubeedge/kubeconfig.conf');
    const objects = await render({ kubeconfig });
    const { data } = only(objects, 'ConfigMap');
    expect(data['kubeconfig.conf'].trim()).toBe(kubeconfig.trim());
    expect(data['config.yaml']).toContain('/etc/kube-proxy-wrapper/kubeconfig.conf');
    const names = container(objects).env.map(({ name }: { name: string }) => name);
    expect(names).toEqual(['NODE_NAME']);
  });

  test('a changed setting gives the ConfigMap another name, so that the DaemonSet is rolled', async () => {
    const name = async (settings: object) =>
      only(await render({ settings }), 'ConfigMap').metadata.name;
    expect(await name({ headless: true })).not.toBe(await name({ headless: false }));
  });
});

function writeSettings(settings: object): string {
  const file = join(folder, 'settings.yaml');
  writeFileSync(file, dump(settings));
  return file;
}

/** Paths of the properties of a JSON schema, `a.b`, sorted. */
function keysOf(schema: Schema, prefix = ''): string[] {
  return Object.entries(schema.properties ?? {})
    .flatMap(([key, each]) =>
      each.properties === undefined ? [prefix + key] : keysOf(each, `${prefix}${key}.`),
    )
    .sort();
}

/** Paths of the values of an object, `a.b`, sorted; what is in an array or under a topology key is one value. */
function pathsOf(value: object, prefix = ''): string[] {
  return Object.entries(value)
    .flatMap(([key, each]) =>
      typeof each === 'object' && !Array.isArray(each) && key !== 'minReady'
        ? pathsOf(each, `${prefix}${key}.`)
        : [prefix + key],
    )
    .sort();
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}
