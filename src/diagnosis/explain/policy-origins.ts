import { WrapperError } from '../../errors.ts';
import type { KeySource } from '../../topology/policy/key-sources.ts';
import {
  keySourcesOf,
  type PolicySettings,
  readAllowed,
  type ServiceDescription,
} from '../../topology/policy/service-policy.ts';
import { PRESETS } from '../../topology/policy/topology-keys.ts';
import type { PolicyOrigin } from './explanation.ts';

/**
 * All sources that name keys for a Service, with these keys; the first one applies.
 *
 * @param namespaceKeys the keys annotation of its Namespace, if it has one and Namespaces are read
 */
export function policyOrigins(
  service: ServiceDescription,
  settings: PolicySettings,
  namespaceKeys?: string,
): readonly PolicyOrigin[] {
  const sources = keySourcesOf(service, settings, namespaceKeys);
  return sources.map((source) => originOf(source, settings));
}

function originOf({ source, read }: KeySource, settings: PolicySettings): PolicyOrigin {
  try {
    const choice = readAllowed(read, settings);
    const preset = Object.entries(PRESETS).find(([, each]) => each === choice)?.[0];
    return { source, keys: choice.keys, preset };
  } catch (error) {
    const { message } = WrapperError.from(error, 'InvalidPolicy');
    return { source, keys: [], invalid: message };
  }
}

/** The keys of a source, or why it has none. */
export function originKeysText({ keys, invalid }: PolicyOrigin, separator: string): string {
  if (invalid !== undefined) return `invalid: ${invalid}`;
  // An empty list is a valid policy.
  return keys.length === 0 ? 'no keys: all endpoints' : keys.join(separator);
}
