import { WrapperError } from '../../errors.ts';
import { type KeyChoice, PRESETS, parseKeyChoice } from '../policy/policy.ts';
import {
  isKubernetesService,
  type PolicySettings,
  readAllowed,
  type ServiceDescription,
  serviceChoices,
} from '../policy/service-policy.ts';
import type { PolicyOrigin } from './explanation.ts';

/**
 * All places that say something about the keys of a Service, the one that counts first. What they say is
 * read by the same parsers as the policy itself.
 *
 * @param namespaceKeys annotation `topologyKeys` of its Namespace, if it has one and these are read
 */
export function policyOrigins(
  service: ServiceDescription,
  settings: PolicySettings,
  namespaceKeys?: string,
): readonly PolicyOrigin[] {
  const origin = (source: PolicyOrigin['source'], read: () => KeyChoice) =>
    originOf(source, () => readAllowed(read, settings));
  const origins = serviceChoices(service, settings).map(({ source, read }) => origin(source, read));
  if (isKubernetesService(service)) return origins;
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
