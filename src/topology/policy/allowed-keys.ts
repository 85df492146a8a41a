import { WrapperError } from '../../errors.ts';
import { isLabelKey } from './label.ts';
import { quote } from './quote.ts';
import { ANY_KEY, CLOUD_KEY, COMMUNITY_KEY, HOSTNAME_KEY } from './topology-keys.ts';

/**
 * Default of the setting `allowedTopologyKeys`. It excludes labels with the same value on every node, and labels
 * that do not describe a place. With such a key each node would watch all nodes, and the key would select nothing.
 */
export const DEFAULT_ALLOWED_KEYS: readonly string[] = [
  '*',
  // Operating system, architecture, role and machine type, from kubelet, kubeadm and clouds.
  '!kubernetes.io/os',
  '!kubernetes.io/arch',
  '!kubernetes.io/role',
  '!beta.kubernetes.io/*',
  '!node.kubernetes.io/*',
  '!node-role.kubernetes.io/*',
  // Node Feature Discovery: features of the machine, mostly the same everywhere.
  '!feature.node.kubernetes.io/*',
  '!kubernetes.azure.com/cluster',
  '!node.openshift.io/os_id',
];

/** Keys that are not labels of other nodes: a policy cannot open arbitrary node sets with them. */
const ALWAYS_ALLOWED: readonly string[] = [ANY_KEY, HOSTNAME_KEY, COMMUNITY_KEY, CLOUD_KEY];

/** Whether a text is a pattern: a label key, or the beginning of one and `*`. A `!` before it excludes keys. */
export function isKeyPattern(text: string): boolean {
  const pattern = text.replace(/^!/, '');
  if (!pattern.endsWith('*')) return isLabelKey(pattern);
  const prefix = pattern.slice(0, -1);
  // A prefix may end where a key could not, e.g. with a slash.
  return prefix === '' || isLabelKey(`${prefix}a`);
}

/** Whether policies may use a key. The last pattern that matches it decides; without one it is not allowed. */
export function isAllowedKey(key: string, patterns: readonly string[]): boolean {
  if (ALWAYS_ALLOWED.includes(key)) return true;
  const last = patterns.findLast((pattern) => matches(pattern.replace(/^!/, ''), key));
  return last?.startsWith('!') === false;
}

/** Throws `InvalidPolicy` if policies may not use one of these keys. */
export function assertAllowedKeys(keys: readonly string[], patterns: readonly string[]): void {
  const refused = keys.find((key) => !isAllowedKey(key, patterns));
  if (refused === undefined) return;
  throw new WrapperError(
    'InvalidPolicy',
    `topologyKeys holds ${quote(refused)}, which the setting allowedTopologyKeys does not allow`,
  );
}

function matches(pattern: string, key: string): boolean {
  return pattern.endsWith('*') ? key.startsWith(pattern.slice(0, -1)) : pattern === key;
}
