import { WrapperError } from '../errors.ts';

/** Annotation of a Service that holds its topology keys: a JSON array in a string. */
export const TOPOLOGY_KEYS_ANNOTATION = 'topologyKeys';

/** Matches an endpoint on this node. */
export const HOSTNAME_KEY = 'kubernetes.io/hostname';
/** Matches an endpoint in this node's zone, as the endpoint itself says. */
export const ZONE_KEY = 'topology.kubernetes.io/zone';
/** Matches any endpoint; allowed as the last key only. */
export const ANY_KEY = '*';

/** More keys than this are refused; Kubernetes' own topologyKeys had the same bound. */
const MAX_KEYS = 16;
/** Keys of this prefix are relations that this program defines, not node labels. */
const RELATION_PREFIX = 'kube-proxy-wrapper.io/';

/** A Service as far as its policy depends on it. */
export interface ServiceDescription {
  readonly namespace: string;
  readonly name: string;
  /** Value of the annotation `topologyKeys`; undefined when it has none. */
  readonly topologyKeys: string | undefined;
  /** clusterIP is `None`. */
  readonly headless: boolean;
  /** Internal or external traffic policy is Local. */
  readonly localTraffic: boolean;
}

/** What the owner of the cluster sets for Services that say nothing themselves. */
export interface PolicySettings {
  /** Keys of Services without an annotation; empty: these are left alone. */
  readonly defaultKeys: readonly string[];
  /** Whether headless Services are managed too. */
  readonly headless: boolean;
}

/** Why a Service is left alone. */
export type UnmanagedReason =
  | 'no-policy'
  | 'headless'
  | 'local-traffic-policy'
  | 'kubernetes-service'
  | 'unknown-service'
  | 'invalid-policy';

/** What applies to one Service. */
export type Policy =
  | {
      readonly managed: true;
      /** In order of preference, at least one. */
      readonly keys: readonly string[];
      readonly source: 'annotation' | 'default';
    }
  | {
      readonly managed: false;
      readonly reason: UnmanagedReason;
      /** What is wrong and how to mend it; only for `invalid-policy`. */
      readonly message?: string;
    };

/** The policy of slices whose Service is not known (yet). */
export const UNKNOWN_SERVICE: Policy = { managed: false, reason: 'unknown-service' };

/**
 * Says what applies to a Service. Never throws: an invalid annotation leaves the Service alone and is
 * reported in the result, for a policy that cannot be read must not cut traffic.
 */
export function policyFor(service: ServiceDescription, settings: PolicySettings): Policy {
  if (service.localTraffic) return unmanaged('local-traffic-policy');
  if (service.headless && !settings.headless) return unmanaged('headless');
  if (service.topologyKeys !== undefined) return annotatedPolicy(service.topologyKeys);
  if (service.namespace === 'default' && service.name === 'kubernetes') {
    return unmanaged('kubernetes-service');
  }
  if (settings.defaultKeys.length === 0) return unmanaged('no-policy');
  return { managed: true, keys: settings.defaultKeys, source: 'default' };
}

function unmanaged(reason: UnmanagedReason): Policy {
  return { managed: false, reason };
}

function annotatedPolicy(annotation: string): Policy {
  try {
    const keys = parseTopologyKeys(annotation);
    // As in Kubernetes' own topologyKeys: an empty list means no constraint, and overrides a default.
    if (keys.length === 0) return unmanaged('no-policy');
    return { managed: true, keys, source: 'annotation' };
  } catch (error) {
    const { message } = WrapperError.from(error, 'InvalidPolicy');
    return { managed: false, reason: 'invalid-policy', message };
  }
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
        `'["${HOSTNAME_KEY}","*"]'`,
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
    assertLabelKey(key);
  });
}

/** A label key as apimachinery's validation.IsQualifiedName takes it. */
function assertLabelKey(key: string): void {
  const slash = key.indexOf('/');
  const prefix = slash < 0 ? undefined : key.slice(0, slash);
  const name = key.slice(slash + 1);
  const validName = name.length <= 63 && /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(name);
  const validPrefix =
    prefix === undefined ||
    (prefix.length <= 253 &&
      /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(prefix));
  if (!validName || !validPrefix) {
    throw new WrapperError(
      'InvalidPolicy',
      `topologyKeys holds ${quote(key)}, which is no node label key and not "*"`,
    );
  }
  if (key.startsWith(RELATION_PREFIX)) {
    throw new WrapperError(
      'InvalidPolicy',
      `topologyKeys holds ${quote(key)}, a relation that this version does not know`,
    );
  }
}

function isStringArray(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** Quotes what a user wrote, cut short so that it fits a log line. */
function quote(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
