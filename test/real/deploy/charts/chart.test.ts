import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { dump, load } from 'js-yaml';
import type { KubeObject } from '../../../../harness/api-server/api.ts';
import { renderCanary } from '../../../../harness/deploy/canary.ts';
import { type AlertRule, alertNames } from '../../../../harness/deploy/monitoring.ts';
import { normalize } from '../../../../harness/deploy/normalize.ts';
import { writeAside } from '../../../../harness/deploy/overlay.ts';
import { helmTemplate, kustomize, only, parseObjects } from '../../../../harness/deploy/render.ts';
import { readText, repository } from '../../../../harness/deploy/repository.ts';
import { everySetting } from '../../../../harness/deploy/settings.ts';
import { type ChartTools, ensureChartTools } from '../../../../harness/deploy/tools.ts';
import { runCommand } from '../../../../harness/process/run-command.ts';
import { loadSettings } from '../../../../src/config/settings.ts';
import { useFolder } from '../../../support/use-folder.ts';

let tools: ChartTools;
let folder: string;

beforeAll(async () => {
  tools = await ensureChartTools();
  folder = useFolder();
}, 600_000);

const host = 'apiServer.host=api-server.example.com';

async function render(values: object, ...set: string[]): Promise<KubeObject[]> {
  const file = join(folder, 'values.yaml');
  writeFileSync(file, dump(values));
  return parseObjects(await helmTemplate(tools, [host, ...set], [file]));
}

const NAME = 'kube-proxy-wrapper';

/** The settings of the wrappers. */
function settingsOf(objects: readonly KubeObject[]): Record<string, unknown> {
  const { volumes } = only(objects, 'DaemonSet', NAME).spec.template.spec;
  const { configMap } = volumes.find(({ name }: { name: string }) => name === 'config');
  return load(only(objects, 'ConfigMap', configMap.name).data['config.yaml']) as never;
}

function container(objects: readonly KubeObject[]) {
  return only(objects, 'DaemonSet').spec.template.spec.containers[0];
}

test('helm lint reports nothing, also with the schema', async () => {
  const args = ['lint', '--strict', 'charts/kube-proxy-wrapper', '--set', host];
  const said = await runCommand(tools.helm, args, { cwd: repository });
  expect(said).toContain('1 chart(s) linted, 0 chart(s) failed');
  expect(said).not.toMatch(/WARNING|ERROR/);
});

describe('with default values the result is that of kustomize', () => {
  test.each<[string, object, string]>([
    ['manifests/base', { state: { hostPath: '' } }, 'api-server.example.com'],
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

  test('manifests/canary', async () => {
    const settings = { logLevel: 'info', dryRun: true };
    const chart = await render({ state: { hostPath: '' }, canary: { create: true, settings } });
    const { others, canary } = await renderCanary(tools.kubectl, 'base', dump(settings));
    expect(normalize(chart)).toEqual(normalize([...others, ...canary]));
  });

  test('the relays of manifests/components/relay', async () => {
    const relaysOf = (objects: readonly KubeObject[]) =>
      (normalize(objects) as KubeObject[]).filter(({ metadata }) =>
        metadata.name.endsWith('-relay'),
      );
    const chart = relaysOf(await render({ state: { hostPath: '' }, relay: { create: true } }));
    const components = ['manifests/components/relay'];
    const plain = await writeAside({ components }, (path) => kustomize(tools, path));
    expect(chart).toEqual(relaysOf(parseObjects(plain)));
    // kubectl kpw status tells the last words of a relay that does not start.
    expect(JSON.stringify(chart)).toContain('"terminationMessagePolicy":"FallbackToLogsOnError"');
    expect(chart.map(({ kind }) => kind)).toEqual(['ConfigMap', 'DaemonSet', 'Service']);
  });

  test('manifests/base with components/local-runtime', async () => {
    const socket = '/run/containerd/containerd.sock';
    const values = { state: { hostPath: '' }, localRuntime: { socket } };
    const chart = await render(values, 'apiServer.host=api-server.example.com');
    const components = ['manifests/components/local-runtime'];
    const plain = await writeAside({ components }, (path) => kustomize(tools, path));
    expect(normalize(chart)).toEqual(normalize(parseObjects(plain)));
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
    ['canary.settings.lisen=127.0.0.1:1', "'lisen' not allowed"],
    ['apiserver.host=a', "'apiserver' not allowed"],
    ['apiServer.host=https://10.0.0.1:6443', 'apiServer/host'],
    ['apiServer.host=10.0.0.1:6443', 'apiServer/host'],
    ['apiServer.host=kubernetes.default', 'is the ClusterIP of default/kubernetes'],
    ['apiServer.host=kubernetes.default.svc', "use the API server's real address"],
    // It was a nil pointer of the template.
    ['settings.listen=none', 'settings.https.listen: with settings.listen none'],
    ['canary.create=true,affinity.nodeAffinity.x=y', 'select nodes with nodeSelector'],
    ['monitoring.podMonitor.create=true', 'needs metrics.onNodeAddress=true'],
    ['relay.listen=10364', 'relay/listen'],
    ['relay.create=true,extraVolumes[0].name=relay-ca', 'choose another name'],
  ])('%s is refused, with the reason', async (value, reason) => {
    await expect(helmTemplate(tools, [host, value])).rejects.toThrow(reason);
  });

  test('the schema has every setting of the wrapper, and no other', () => {
    const schema = JSON.parse(readText('charts/kube-proxy-wrapper/values.schema.json'));
    const known = keysOf(schema.properties.settings);
    // The node's name is the Pod's, and no setting of the chart.
    const { nodeName: _, ...wanted } = everySetting;
    // It stands instead of relays.service.
    const alone = known.filter((each) => each !== 'relays.servers');
    expect(alone).toEqual(pathsOf(wanted).sort());
    // That the schema is made from the wrapper's own is tested with the script that makes it.
    loadSettings({}, {}, writeSettings(everySetting));
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

  test('a setting that needs a right adds it', async () => {
    const rights = async (settings: object) =>
      only(await render({ settings }), 'ClusterRole').rules.flatMap(
        ({ resources }: { resources: string[] }) => resources,
      );
    expect(await rights({})).not.toContain('namespaces');
    expect(await rights({ namespacePolicies: true })).toContain('namespaces');
    expect(await rights({ communities: { fabedgeCluster: 'a' } })).toContain('communities');
  });

  test('with relays the wrappers find them, and start without their Secret', async () => {
    const objects = await render({ relay: { create: true } });
    const { containers, volumes } = only(objects, 'DaemonSet', NAME).spec.template.spec;
    const isAuthority = ({ name }: { name: string }): boolean => name === 'relay-ca';
    const secretName = `${NAME}-relay`;
    expect(volumes.find(isAuthority).secret).toMatchObject({ secretName, optional: true });
    const { mountPath } = containers[0].volumeMounts.find(isAuthority);
    expect(settingsOf(objects).relays).toEqual({
      service: `kube-system/${secretName}`,
      caFile: `${mountPath}/ca.crt`,
    });
  });

  test('relays of own settings have no volume, and no other Service', async () => {
    const relays = { servers: ['https://10.96.0.80'], caFile: '/etc/ca/ca.crt' };
    const objects = await render({ relay: { create: true }, settings: { relays } });
    expect(settingsOf(objects).relays).toEqual(relays);
    expect(JSON.stringify(only(objects, 'DaemonSet', NAME))).not.toContain('relay');
  });

  test('relays listen where it is said, and their Service leads there', async () => {
    const objects = await render({ relay: { create: true, listen: '[::]:10374' } });
    const { data } = only(objects, 'ConfigMap', `${NAME}-relay`);
    const { https } = load(data['relay.yaml']) as { https: { listen: string } };
    expect(https.listen).toBe('[::]:10374');
    expect(only(objects, 'Service', `${NAME}-relay`).spec.ports[0].targetPort).toBe(10_374);
    // The values of a release of 1.2.0 have no address.
    const before = await render({ relay: { create: true, listen: null } });
    expect(before).toEqual(await render({ relay: { create: true } }));
  });

  // Without a volume of the chart, the authority was mounted so. The API server rejects a path that is there twice.
  test.each(['/etc/kube-proxy-wrapper-relay', '/etc/kube-proxy-wrapper-relay/'])(
    'an own mount of the authority of relays at %s stands instead of the mount of the chart',
    async (mountPath) => {
      const volume = { name: 'relay-ca', secret: { secretName: 'own' } };
      const mount = { name: 'relay-ca', mountPath };
      const objects = await render({
        relay: { create: true },
        extraVolumes: [volume],
        extraVolumeMounts: [mount],
      });
      const { containers, volumes } = only(objects, 'DaemonSet', NAME).spec.template.spec;
      const isAuthority = ({ name }: { name: string }): boolean => name === 'relay-ca';
      expect(volumes.filter(isAuthority)).toEqual([volume]);
      expect(containers[0].volumeMounts.filter(isAuthority)).toEqual([mount]);
      expect(settingsOf(objects).relays).toMatchObject({
        caFile: '/etc/kube-proxy-wrapper-relay/ca.crt',
      });
    },
  );

  test('the canary has what differs from the others, and the role what either needs', async () => {
    const settings = { dryRun: false, namespacePolicies: true };
    const canary = { create: true, settings, image: { tag: 'next' } };
    const objects = await render({ settings: { dryRun: true }, canary });
    const { volumes, containers } = only(objects, 'DaemonSet', 'kube-proxy-wrapper-canary').spec
      .template.spec;
    expect(containers[0].image).toBe('registry.example.com/kube-proxy-wrapper:next');
    const { configMap } = volumes.find(({ name }: { name: string }) => name === 'config');
    const { data } = only(objects, 'ConfigMap', configMap.name);
    expect(load(data['config.yaml'])).toEqual({ logLevel: 'info', ...settings });
    const { rules } = only(objects, 'ClusterRole');
    expect(rules.flatMap(({ resources }: { resources: string[] }) => resources)).toContain(
      'namespaces',
    );
  });

  test('the old Pod waits for the next one, as long as the setting says, and is given that time', async () => {
    const times = async (settings: object) => {
      const objects = await render({ settings });
      const { terminationGracePeriodSeconds } = only(objects, 'DaemonSet').spec.template.spec;
      return [container(objects).args.slice(2, 3), terminationGracePeriodSeconds];
    };
    expect(await times({})).toEqual([['--handover-seconds=20'], 30]);
    expect(await times({ handoverSeconds: 0 })).toEqual([['--handover-seconds=0'], 10]);
  });

  test('monitoring creates PodMonitor, PrometheusRule and dashboard, which lead to the given documentation', async () => {
    const documentation = 'https://docs.example.org/kpw';
    const create = { create: true, labels: { release: 'prometheus' } };
    const parts = { podMonitor: create, prometheusRule: create, dashboard: create };
    const objects = await render({
      metrics: { onNodeAddress: true },
      monitoring: { ...parts, documentation },
    });
    const rules = only(objects, 'PrometheusRule');
    expect(rules.metadata.labels).toMatchObject({ release: 'prometheus' });
    const alerts = rules.spec.groups.flatMap((group: { rules: AlertRule[] }) => group.rules);
    expect(alerts.map(({ alert }: AlertRule) => alert)).toEqual(alertNames);
    for (const { annotations } of alerts as AlertRule[]) {
      expect(annotations.runbook_url).toMatch(
        /^https:\/\/docs\.example\.org\/kpw\/operations-[a-z-]+\.md#/,
      );
    }
    const { podMetricsEndpoints, selector } = only(objects, 'PodMonitor').spec;
    const { template } = only(objects, 'DaemonSet').spec;
    expect(template.metadata.labels).toMatchObject(selector.matchLabels);
    expect(podMetricsEndpoints[0]).toMatchObject({ path: '/metrics', interval: '30s' });
    const board = objects.find(({ metadata }) => metadata.name.endsWith('-dashboard'));
    expect(JSON.parse(board?.data['kube-proxy-wrapper.json']).panels.length).toBeGreaterThan(20);
  });

  test('relays have a PodMonitor of their own, which reaches their admin port', async () => {
    const objects = await render({
      relay: { create: true },
      metrics: { onNodeAddress: true },
      monitoring: { podMonitor: { create: true } },
    });
    const { selector, podMetricsEndpoints } = only(objects, 'PodMonitor', `${NAME}-relay`).spec;
    const { template } = only(objects, 'DaemonSet', `${NAME}-relay`).spec;
    expect(template.metadata.labels).toMatchObject(selector.matchLabels);
    const { args, livenessProbe } = template.spec.containers[0];
    expect(args).toContain('--admin-listen=[$(NODE_IP)]:10365');
    expect(livenessProbe.httpGet).toEqual({ port: 10365, path: '/healthz' });
    const { relabelings } = podMetricsEndpoints[0];
    const replacements = relabelings.map(
      ({ replacement }: { replacement?: string }) => replacement,
    );
    expect(replacements).toEqual(['kube-proxy-wrapper-relay', undefined, '$1:10365', '[$1]:10365']);
  });

  test('the values of docs/metrics.md create the same', async () => {
    const [, command = ''] = /(helm upgrade [^`]+)/.exec(readText('docs/metrics.md')) ?? [];
    const set = Array.from(command.matchAll(/--set (\S+)/g), ([, value = '']) => value);
    const objects = await render({}, ...set);
    only(objects, 'PrometheusRule');
    only(objects, 'PodMonitor');
    expect(objects.some(({ metadata }) => metadata.name.endsWith('-dashboard'))).toBe(true);
  });

  test('admissionPolicy creates the policy of the component, with the action that is set', async () => {
    const created = async (admissionPolicy: object) =>
      (await render({ admissionPolicy })).filter(({ kind }) =>
        kind?.startsWith('ValidatingAdmissionPolicy'),
      );
    const component = parseObjects(readText('manifests/components/admission-policy/policy.yaml'));
    expect(await created({ create: true })).toEqual(component);
    const binding = only(
      await created({ create: true, action: 'Warn' }),
      'ValidatingAdmissionPolicyBinding',
    );
    expect(binding.spec.validationActions).toEqual(['Warn']);
  });

  test('admissionPolicy is refused for a Kubernetes that does not know it', async () => {
    const values = [host, 'admissionPolicy.create=true'];
    await expect(helmTemplate(tools, values, [], ['--kube-version', '1.29.0'])).rejects.toThrow(
      'needs Kubernetes 1.30 or newer, this is v1.29.0',
    );
  });

  test('a folder for the state that is given in the settings is not overruled', async () => {
    expect(container(await render({})).args).toContain(
      '--state-dir=/var/lib/kube-proxy-wrapper/state',
    );
    const { args } = container(await render({ settings: { stateDir: '/elsewhere' } }));
    expect(args.filter((arg: string) => arg.startsWith('--state-dir'))).toEqual([]);
  });

  // They told people to point kube-proxy at the wrapper again. helm template prints no notes.
  test('the notes of an upgrade say that nothing is left to do', async () => {
    const chart = join(folder, 'with-notes');
    cpSync(join(repository, 'charts/kube-proxy-wrapper'), chart, { recursive: true });
    writeFileSync(
      join(chart, 'templates/notes.yaml'),
      `apiVersion: v1
kind: ConfigMap
metadata: { name: notes }
data: { notes: {{ include (print .Template.BasePath "/NOTES.txt") . | quote }} }
`,
    );
    const notes = async (...more: string[]) => {
      const args = ['template', 'a', chart, '--show-only', 'templates/notes.yaml', '--set', host];
      return await runCommand(tools.helm, [...args, ...more], { cwd: repository });
    };
    expect(await notes('--is-upgrade')).toMatch(/nothing more to do/);
    expect(await notes('--is-upgrade')).not.toContain('docs/deployment.md');
    expect(await notes()).toContain('docs/deployment.md');
  });

  test('without plain http the notes say where kube-proxy is pointed at', async () => {
    const https = { listen: '127.0.0.1:10362', certFile: '/a', keyFile: '/b' };
    const notes = async (settings: object) => {
      const file = join(folder, 'notes.yaml');
      writeFileSync(file, dump({ settings, kubeProxyKubeconfig: { create: true } }));
      const args = ['install', 'a', 'charts/kube-proxy-wrapper', '--dry-run=client', '--set', host];
      const said = await runCommand(tools.helm, [...args, '--values', file], { cwd: repository });
      return said.slice(said.indexOf('NOTES:'));
    };
    expect(await notes({})).toMatch(/kube-proxy at\s+http:\/\/127.0.0.1:10360/);
    const text = await notes({ listen: 'none', https });
    expect(text).toMatch(/kube-proxy at\s+https:\/\/127.0.0.1:10362/);
    expect(text).toContain('has no effect');
    expect(text).not.toContain('http://');
    const objects = await render({
      settings: { listen: 'none', https },
      kubeProxyKubeconfig: { create: true },
    });
    expect(objects.filter(({ kind }) => kind === 'ConfigMap')).toHaveLength(1);
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

  // helm upgrade --reuse-values takes the values of the release before, without those that are new. Of these a template
  // once made "nil pointer evaluating interface {}.create".
  test('values that 1.0.0 or 1.1.0 did not have may be missing', async () => {
    const added = ['canary', 'localRuntime', 'monitoring', 'admissionPolicy', 'relay'];
    const values = Object.fromEntries(added.map((key) => [key, null]));
    expect(await render(values)).toEqual(await render({}));
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
