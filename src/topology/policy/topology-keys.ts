import { WrapperError } from '../../errors.ts';
import { isLabelKey } from './label.ts';
import { quote } from './quote.ts';

/** Matches an endpoint on this node. */
export const HOSTNAME_KEY = 'kubernetes.io/hostname';
/** Matches an endpoint whose node is in this node's zone; where no such node is known, by the zone of the endpoint. */
export const ZONE_KEY = 'topology.kubernetes.io/zone';
/** Matches an endpoint on a node that shares a community with this one. */
export const COMMUNITY_KEY = 'kube-proxy-wrapper.io/community';
/** Matches an endpoint on a node that is not an edge node. */
export const CLOUD_KEY = 'kube-proxy-wrapper.io/cloud';
/** Matches any endpoint; allowed as the last key only. */
export const ANY_KEY = '*';

/** Kubernetes' own topologyKeys had the same limit. */
const MAX_KEYS = 16;
/** Annotations, and keys that are not node labels, have this prefix and a slash if this program defines them. */
export const OWN_PREFIX = 'kube-proxy-wrapper.io';

/** Keys in order of preference, as an owner chose them. */
export interface KeyChoice {
  /** Empty: no constraint. */
  readonly keys: readonly string[];
  /** Only edge nodes are constrained; a cloud node sees all endpoints. */
  readonly edgeOnly?: true;
}

/** Choices with a name, for common cases and for those who come from other systems. */
export const PRESETS: Readonly<Record<string, KeyChoice>> = {
  'fab-proxy': { keys: [HOSTNAME_KEY, CLOUD_KEY], edgeOnly: true },
  'fab-proxy-community': { keys: [HOSTNAME_KEY, COMMUNITY_KEY, CLOUD_KEY], edgeOnly: true },
  'prefer-same-node': { keys: [HOSTNAME_KEY, ZONE_KEY, ANY_KEY] },
  'prefer-same-zone': { keys: [ZONE_KEY, ANY_KEY] },
  'same-zone-only': { keys: [ZONE_KEY] },
};

/**
 * Parses the value of the annotation `topologyKeys`: a JSON array such as `["kubernetes.io/hostname","*"]`, or
 * the name of a preset. Throws `InvalidPolicy`; the message says what is wrong and shows a valid value.
 */
export function parseKeyChoice(text: string): KeyChoice {
  const preset = Object.hasOwn(PRESETS, text.trim()) ? PRESETS[text.trim()] : undefined;
  return preset ?? { keys: parseTopologyKeys(text) };
}

/** Parses a JSON array of topology keys. Throws `InvalidPolicy`, as above. */
export function parseTopologyKeys(annotation: string): readonly string[] {
  let keys: unknown;
  try {
    keys = JSON.parse(annotation);
  } catch (cause) {
    const text =
      `topologyKeys is not JSON: ${quote(annotation)}; write a JSON array in a string, such as ` +
      `'["${HOSTNAME_KEY}","*"]', or one of ${Object.keys(PRESETS).join(', ')}`;
    throw new WrapperError('InvalidPolicy', text, { cause });
  }
  if (!isStringArray(keys)) {
    throw invalidKeys(`topologyKeys is not an array of strings: ${quote(annotation)}`);
  }
  assertTopologyKeys(keys);
  return keys;
}

/** Checks keys from any source (annotation or settings). Throws `InvalidPolicy`. */
export function assertTopologyKeys(keys: readonly string[]): void {
  if (keys.length > MAX_KEYS) {
    throw invalidKeys(`topologyKeys has ${keys.length} keys; at most ${MAX_KEYS} are allowed`);
  }
  const seen = new Set<string>();
  keys.forEach((key, index) => {
    if (seen.has(key)) throw invalidKeys(`topologyKeys names ${quote(key)} twice`);
    seen.add(key);
    assertKey(key);
    if (key === ANY_KEY && index < keys.length - 1) {
      throw invalidKeys(
        'topologyKeys has "*" before other keys; it matches every endpoint, so it has to be the last',
      );
    }
  });
}

/** Whether a text can be a key of a policy. */
export function isTopologyKey(text: string): boolean {
  return text === ANY_KEY || isLabelKey(text);
}

function assertKey(key: string): void {
  if (!isTopologyKey(key)) {
    throw invalidKeys(
      `topologyKeys holds ${quote(key)}, which is neither a node label key nor "*"`,
    );
  }
  if (key.startsWith(`${OWN_PREFIX}/`) && key !== COMMUNITY_KEY && key !== CLOUD_KEY) {
    throw invalidKeys(
      `topologyKeys holds ${quote(key)}, which does not exist; with this prefix there are ${COMMUNITY_KEY} and ${CLOUD_KEY}`,
    );
  }
}

function isStringArray(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function invalidKeys(message: string): WrapperError {
  return new WrapperError('InvalidPolicy', message);
}
