import type { V1Container, V1Pod } from '@kubernetes/client-node';
import { isMapping } from '../../config/setting-types.ts';
import type { RawSettings } from '../../config/settings.ts';
import { WrapperError } from '../../errors.ts';
import { parseYaml, reading } from '../../read-yaml.ts';
import type { KubeClient } from '../client/kube-client.ts';
import type { WrapperPod } from './wrapper-pods.ts';

/**
 * The settings of the wrapper in a Pod, from the ConfigMap that is mounted where its flag --config points. Empty: the
 * Pod has no such flag. Throws `InvalidSettings` if the file does not come from a ConfigMap, or is not YAML.
 */
export async function readWrapperConfig(client: KubeClient, pod: WrapperPod): Promise<RawSettings> {
  const { namespace, name } = pod;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}`;
  const { spec } = await client.get<V1Pod>(
    `${path}/pods/${encodeURIComponent(name)}`,
    `get pods in namespace ${namespace}`,
  );
  const found = spec?.containers?.map((each) => [each, configFlag(each)] as const);
  const [container, file] = found?.find(([, flag]) => flag !== undefined) ?? [];
  if (container === undefined || file === undefined) return {};
  const mount = container.volumeMounts
    ?.filter(({ mountPath }) => file.startsWith(`${mountPath.replace(/\/$/, '')}/`))
    .sort((a, b) => b.mountPath.length - a.mountPath.length)[0];
  const configMap = spec?.volumes?.find((each) => each.name === mount?.name)?.configMap?.name;
  if (mount === undefined || configMap === undefined) {
    const what = `${file} of Pod ${namespace}/${name} does not come from a ConfigMap`;
    throw new WrapperError('InvalidSettings', `${what}; give the settings with --config`);
  }
  const right = `get configmaps in namespace ${namespace}, or to give the settings with --config`;
  const { data } = await client.get<{ data?: Record<string, string> }>(
    `${path}/configmaps/${encodeURIComponent(configMap)}`,
    right,
  );
  const key = file.slice(mount.mountPath.replace(/\/$/, '').length + 1);
  const [settings] = reading(`${key} of ConfigMap ${namespace}/${configMap}`, () =>
    parseYaml(data?.[key] ?? ''),
  );
  return isMapping(settings) ? (settings as RawSettings) : {};
}

/** The value of `--config FILE` or `--config=FILE`. */
function configFlag({ command = [], args = [] }: V1Container): string | undefined {
  const all = [...command, ...args];
  const index = all.findIndex((arg) => arg === '--config' || arg.startsWith('--config='));
  const arg = all[index];
  if (arg === undefined) return undefined;
  return arg === '--config' ? all[index + 1] : arg.slice('--config='.length);
}
