import { WrapperError } from '../../errors.ts';
import { annotatedKeySources, hintsSourceOf } from '../policy/key-sources.ts';
import {
  isKubernetesService,
  type PolicySettings,
  readAllowed,
  type ServiceDescription,
} from '../policy/service-policy.ts';
import { type KeyChoice, PRESETS, parseKeyChoice } from '../policy/topology-keys.ts';
import type { PolicyOrigin } from './explanation.ts';

/**
 * All sources that name keys for a Service; the first one applies. The parsers are those of the policy itself.
 *
 * @param namespaceKeys the keys annotation of its Namespace, if it has one and Namespaces are read
 */
export function policyOrigins(
  service: ServiceDescription,
  settings: PolicySettings,
  namespaceKeys?: string,
): readonly PolicyOrigin[] {
  const origin = (source: PolicyOrigin['source'], read: () => KeyChoice) =>
    originOf(source, () => readAllowed(read, settings));
  const origins = annotatedKeySources(service.annotations, settings.compatibility).map(
    ({ source, read }) => origin(source, read),
  );
  if (isKubernetesService(service)) return origins;
  const hints = hintsSourceOf(service);
  if (hints !== undefined) origins.push({ source: hints, keys: [] });
  if (namespaceKeys !== undefined) {
    origins.push(origin('namespace', () => parseKeyChoice(namespaceKeys)));
  }
  if (settings.defaults.keys.length > 0) origins.push(origin('default', () => settings.defaults));
  return origins;
}

function originOf(source: PolicyOrigin['source'], read: () => KeyChoice): PolicyOrigin {
  try {
    const choice = read();
    const preset = Object.entries(PRESETS).find(([, each]) => each === choice)?.[0];
    return { source, keys: choice.keys, ...(preset === undefined ? {} : { preset }) };
  } catch (error) {
    const { message } = WrapperError.from(error, 'InvalidPolicy');
    return { source, keys: [], invalid: message };
  }
}
