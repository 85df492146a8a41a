import { didYouMean } from '../../text/did-you-mean.ts';
import { isWithinEdits } from '../../text/edit-distance.ts';
import { localName } from './label.ts';
import { HOSTNAME_KEY, ZONE_KEY } from './topology-keys.ts';

/** Labels that Kubernetes and other systems set on nodes, and that policies use. */
export const WELL_KNOWN: readonly string[] = [
  HOSTNAME_KEY,
  ZONE_KEY,
  'topology.kubernetes.io/region',
  'apps.openyurt.io/nodepool',
  'apps.kubeedge.io/belonging-to',
];

/**
 * The label that a key was probably meant to be. Undefined: the key is well known itself, or not similar to any.
 *
 * - a well-known one: a few letters differ, or only the prefix, as in `kubernetes.io/zone`
 * - one of this node: only case and separators differ, as in `Site` for `site`. Other nodes may have what differs more
 *
 * @param labels keys of the labels of this node
 */
export function similarKey(key: string, labels: Iterable<string> = []): string | undefined {
  if (WELL_KNOWN.includes(key)) return undefined;
  const known = WELL_KNOWN.find(
    (known) =>
      isWithinEdits(key, known) ||
      (isOfKubernetes(key) && isOfKubernetes(known) && localName(key) === localName(known)),
  );
  if (known !== undefined) return known;
  const plain = plainKey(key);
  for (const label of labels) if (plainKey(label) === plain) return label;
  return undefined;
}

/**
 * The label that was probably meant by a key that no node of the cluster has: its letters are near, or only its prefix
 * differs, as that of failure-domain.beta.kubernetes.io/zone, which Kubernetes has renamed.
 *
 * @param labels keys of the labels of all nodes
 */
export function nearestLabel(key: string, labels: readonly string[]): string | undefined {
  const wanted = localName(key);
  return didYouMean(key, labels) ?? labels.find((label) => localName(label) === wanted);
}

/** Failure-domain labels are old names that nodes may still have. */
function isOfKubernetes(key: string): boolean {
  return /^([a-z.]+\.)?kubernetes\.io\//.test(key) && !key.startsWith('failure-domain.');
}

function plainKey(key: string): string {
  return key.toLowerCase().replaceAll(/[-_.]/g, '');
}
