import { WrapperError } from '../../errors.ts';
import { isLabelKey } from './label.ts';

/** Matches an endpoint on this node. */
export const HOSTNAME_KEY = 'kubernetes.io/hostname';
/** Matches an endpoint in this node's zone, as the endpoint itself says. */
export const ZONE_KEY = 'topology.kubernetes.io/zone';
/** Matches an endpoint on a node that shares a community with this one. */
export const COMMUNITY_KEY = 'kube-proxy-wrapper.io/community';
/** Matches an endpoint on a node that is no edge node. */
export const CLOUD_KEY = 'kube-proxy-wrapper.io/cloud';
/** Matches any endpoint; allowed as the last key only. */
export const ANY_KEY = '*';

/** More keys than this are refused; Kubernetes' own topologyKeys had the same bound. */
const MAX_KEYS = 16;
/** Keys of this prefix are relations that this program defines, not node labels. */
const RELATION_PREFIX = 'kube-proxy-wrapper.io/';

/** What an owner chose: keys in order of preference. */
export interface KeyChoice {
  /** Empty: no constraint. */
  readonly keys: readonly string[];
  /** Only edge nodes are constrained; a cloud node sees everything. */
  readonly edgeOnly?: true;
}

/** Keys by name, for those who know what they want from elsewhere. */
export const PRESETS: Readonly<Record<string, KeyChoice>> = {
  'fab-proxy': { keys: [HOSTNAME_KEY, CLOUD_KEY], edgeOnly: true },
  'fab-proxy-community': { keys: [HOSTNAME_KEY, COMMUNITY_KEY, CLOUD_KEY], edgeOnly: true },
  'prefer-same-node': { keys: [HOSTNAME_KEY, ANY_KEY] },
  'prefer-same-zone': { keys: [ZONE_KEY, ANY_KEY] },
  'same-zone-only': { keys: [ZONE_KEY] },
};

/** Why a Service is left alone. */
export type UnmanagedReason =
  | 'no-policy'
  | 'headless'
  | 'local-traffic-policy'
  | 'kubernetes-service'
  | 'unknown-service'
  | 'invalid-policy'
  /** Switched off by an annotation of the Service. */
  | 'service-off'
  /** Switched off by an annotation of this node. */
  | 'node-off'
  /** The policy applies to edge nodes, and this is none. */
  | 'cloud-node'
  /** Not left alone but hidden: another proxy serves it on this node. */
  | 'other-proxy';

/** Where the keys of a policy come from. */
export type PolicySource = 'annotation' | 'openyurt' | 'kubeedge' | 'namespace' | 'default';

/** What applies to one Service. */
export type Policy =
  | {
      readonly managed: true;
      /** In order of preference, at least one. */
      readonly keys: readonly string[];
      readonly source: PolicySource;
      readonly edgeOnly?: true;
      /** Ready endpoints that each key needs to count, in the order of the keys; absent: one. */
      readonly minReady?: readonly number[];
      /** Keys that the annotation min-ready names and `keys` does not; absent: there is none. */
      readonly unusedMinReady?: readonly string[];
      /** A nearer key is returned to only when it was ready for this long, in milliseconds; absent: at once. */
      readonly returnDelayMs?: number;
      /** Decided, but not carried out: everything is shown. */
      readonly dryRun?: true;
    }
  | {
      readonly managed: false;
      readonly reason: UnmanagedReason;
      /** As above; only for `other-proxy`, which alone would change what is shown. */
      readonly dryRun?: true;
      /** What is wrong and how to mend it; only for `invalid-policy`. */
      readonly message?: string;
      /** The mistake is in an annotation of the Namespace, not of the Service; only for `invalid-policy`. */
      readonly ofNamespace?: true;
    };

/** A policy that selects endpoints. */
export type ManagedPolicy = Extract<Policy, { managed: true }>;

/** The policy of slices whose Service is not known (yet). */
export const UNKNOWN_SERVICE: Policy = { managed: false, reason: 'unknown-service' };
/** The policy of every Service on a node that is switched off. */
export const NODE_OFF: Policy = { managed: false, reason: 'node-off' };
/** What a policy for edge nodes only is on a cloud node. */
export const CLOUD_NODE: Policy = { managed: false, reason: 'cloud-node' };

/** Whether two policies say the same. */
export function samePolicy(a: Policy, b: Policy): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/**
 * Parses what an annotation `topologyKeys` holds: a JSON array such as `["kubernetes.io/hostname","*"]`, or
 * the name of a preset. Throws `InvalidPolicy` with what is wrong and an example of what is right.
 */
export function parseKeyChoice(text: string): KeyChoice {
  const preset = Object.hasOwn(PRESETS, text.trim()) ? PRESETS[text.trim()] : undefined;
  return preset ?? { keys: parseTopologyKeys(text) };
}

/**
 * Parses the value of the annotation `topologyKeys`, e.g. `["kubernetes.io/hostname","*"]`.
 * Throws `InvalidPolicy` with what is wrong and an example of what is right.
 */
export function parseTopologyKeys(annotation: string): readonly string[] {
  let keys: unknown;
  try {
    keys = JSON.parse(annotation);
  } catch (cause) {
    throw new WrapperError(
      'InvalidPolicy',
      `topologyKeys is not JSON: ${quote(annotation)}; write a JSON array in a string, such as ` +
        `'["${HOSTNAME_KEY}","*"]', or one of ${Object.keys(PRESETS).join(', ')}`,
      { cause },
    );
  }
  if (!isStringArray(keys)) {
    throw new WrapperError(
      'InvalidPolicy',
      `topologyKeys is not an array of strings: ${quote(annotation)}`,
    );
  }
  assertTopologyKeys(keys);
  return keys;
}

/** Checks keys from any source (annotation or settings). Throws `InvalidPolicy`. */
export function assertTopologyKeys(keys: readonly string[]): void {
  if (keys.length > MAX_KEYS) {
    throw new WrapperError(
      'InvalidPolicy',
      `topologyKeys has ${keys.length} keys, at most 16 count`,
    );
  }
  const seen = new Set<string>();
  keys.forEach((key, index) => {
    if (seen.has(key)) {
      throw new WrapperError('InvalidPolicy', `topologyKeys names ${quote(key)} twice`);
    }
    seen.add(key);
    if (key === ANY_KEY) {
      if (index === keys.length - 1) return;
      throw new WrapperError(
        'InvalidPolicy',
        'topologyKeys has "*" before other keys; it matches every endpoint, so it has to be the last',
      );
    }
    assertKey(key);
  });
}

function assertKey(key: string): void {
  if (!isLabelKey(key)) {
    throw new WrapperError(
      'InvalidPolicy',
      `topologyKeys holds ${quote(key)}, which is no node label key and not "*"`,
    );
  }
  if (key.startsWith(RELATION_PREFIX) && key !== COMMUNITY_KEY && key !== CLOUD_KEY) {
    throw new WrapperError(
      'InvalidPolicy',
      `topologyKeys holds ${quote(key)}, which is no relation; there are ${COMMUNITY_KEY} and ${CLOUD_KEY}`,
    );
  }
}

function isStringArray(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** Quotes what a user wrote, cut short so that it fits a log line. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
