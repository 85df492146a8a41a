import { isWithinEdits } from '../../edit-distance.ts';
import { localName } from './label.ts';
import { HOSTNAME_KEY, ZONE_KEY } from './topology-keys.ts';

/** Labels that Kubernetes and other systems set on nodes, and that policies use. */
const WELL_KNOWN: readonly string[] = [
  HOSTNAME_KEY,
  ZONE_KEY,
  'topology.kubernetes.io/region',
  'apps.openyurt.io/nodepool',
  'apps.kubeedge.io/belonging-to',
];

/**
 * The well-known label that a key was probably meant to be: a few letters differ, or only the prefix, as in
 * `kubernetes.io/zone`. Undefined: the key is well known itself, or not similar to any.
 */
export function similarKey(key: string): string | undefined {
  if (WELL_KNOWN.includes(key)) return undefined;
  return WELL_KNOWN.find(
    (known) =>
      isWithinEdits(key, known) ||
      (isOfKubernetes(key) && isOfKubernetes(known) && localName(key) === localName(known)),
  );
}

/** Failure-domain labels are old names that nodes may still have. */
function isOfKubernetes(key: string): boolean {
  return /^([a-z.]+\.)?kubernetes\.io\//.test(key) && !key.startsWith('failure-domain.');
}
