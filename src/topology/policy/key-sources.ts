import { WrapperError } from '../../errors.ts';
import {
  FILTER_ANNOTATION,
  MIN_READY_ANNOTATION,
  PREFIXED_KEYS_ANNOTATION,
  TOPOLOGY_KEYS_ANNOTATION,
} from './annotation-names.ts';
import type { HintsSource, PolicySource } from './policy.ts';
import { quote } from './quote.ts';
import { ANY_KEY, HOSTNAME_KEY, type KeyChoice, parseKeyChoice } from './topology-keys.ts';

/** OpenYurt's annotation, and the label with the pool of a node. */
const OPENYURT_ANNOTATION = 'openyurt.io/topologyKeys';
const OPENYURT_POOL_LABEL = 'apps.openyurt.io/nodepool';
const OPENYURT_POOL_KEYS = ['openyurt.io/nodepool', 'kubernetes.io/zone'];
const OPENYURT_KEYS = [HOSTNAME_KEY, ...OPENYURT_POOL_KEYS, ANY_KEY];
/** KubeEdge's annotation, its only value, and the label with the group of a node. */
const KUBEEDGE_ANNOTATION = 'apps.kubeedge.io/service-topology';
const KUBEEDGE_RANGE = 'range-nodegroup';
const KUBEEDGE_GROUP_LABEL = 'apps.kubeedge.io/belonging-to';

/** Other systems whose annotations can be read. */
export type CompatibleSystem = 'openyurt' | 'kubeedge';

/** The annotation of each of them. */
const ANNOTATIONS_OF_SYSTEMS = [
  ['openyurt', OPENYURT_ANNOTATION],
  ['kubeedge', KUBEEDGE_ANNOTATION],
] as const satisfies readonly (readonly [CompatibleSystem, string])[];

/** Annotations that request topology hints from the EndpointSlice controller; the first one counts. */
const TOPOLOGY_MODE_ANNOTATIONS = [
  'service.kubernetes.io/topology-aware-hints',
  'service.kubernetes.io/topology-mode',
];

/** All annotations that a policy depends on. */
export const READ_ANNOTATIONS: readonly string[] = [
  PREFIXED_KEYS_ANNOTATION,
  TOPOLOGY_KEYS_ANNOTATION,
  FILTER_ANNOTATION,
  MIN_READY_ANNOTATION,
  OPENYURT_ANNOTATION,
  KUBEEDGE_ANNOTATION,
  ...TOPOLOGY_MODE_ANNOTATIONS,
];

/** The annotations that a policy depends on, of some annotations. */
export function onlyRead(annotations: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...annotations].filter(([name]) => READ_ANNOTATIONS.includes(name)));
}

/** A place that chooses topology keys; `read` throws `InvalidPolicy`. */
export interface KeySource {
  readonly source: PolicySource;
  readonly read: () => KeyChoice;
}

/** The annotations of a Service that choose keys; the first one applies. */
export function annotatedKeySources(
  annotations: ReadonlyMap<string, string>,
  compatibility: readonly CompatibleSystem[],
): KeySource[] {
  const sources: KeySource[] = [];
  const own = keysAnnotation(annotations);
  if (own !== undefined) sources.push({ source: 'annotation', read: () => parseKeyChoice(own) });
  const openyurt = annotations.get(OPENYURT_ANNOTATION);
  if (openyurt !== undefined && compatibility.includes('openyurt')) {
    sources.push({ source: 'openyurt', read: () => openyurtKeys(openyurt) });
  }
  const kubeedge = annotations.get(KUBEEDGE_ANNOTATION);
  if (kubeedge !== undefined && compatibility.includes('kubeedge')) {
    sources.push({ source: 'kubeedge', read: () => kubeedgeKeys(kubeedge) });
  }
  return sources;
}

/** A sentence for each annotation of another system that is not read, on a Service where no annotation applies. */
export function unreadAnnotations(
  annotations: ReadonlyMap<string, string>,
  compatibility: readonly CompatibleSystem[],
): string[] {
  const unread = ANNOTATIONS_OF_SYSTEMS.filter(([, name]) => annotations.get(name)?.trim());
  if (unread.length === 0 || annotatedKeySources(annotations, compatibility).length > 0) return [];
  return unread.map(
    ([system, name]) =>
      `the annotation ${name} has no effect here; the setting compatibility does not list ${system}`,
  );
}

/** The annotation of a Service or Namespace that holds its topology keys: the name with a prefix comes first. */
export function keysAnnotation(annotations: ReadonlyMap<string, string>): string | undefined {
  return annotations.get(PREFIXED_KEYS_ANNOTATION) ?? annotations.get(TOPOLOGY_KEYS_ANNOTATION);
}

/**
 * How a Service requests hints from Kubernetes itself, as the EndpointSlice controller reads it (k8s.io/endpointslice
 * utils.go hintsEnabled): the annotations come first. A value of topology-mode with a domain requests them from another
 * implementation (core/v1 AnnotationTopologyMode). Undefined: it does not.
 */
export function hintsSourceOf({
  annotations,
  trafficDistribution = '',
}: {
  readonly annotations: ReadonlyMap<string, string>;
  readonly trafficDistribution?: string;
}): HintsSource | undefined {
  const [old, mode] = TOPOLOGY_MODE_ANNOTATIONS.map((name) => annotations.get(name));
  if (/^[Aa]uto$/.test(old ?? mode ?? '')) return 'topology-mode';
  if (old === undefined && mode?.includes('/')) return 'topology-mode';
  return trafficDistribution === '' ? undefined : 'traffic-distribution';
}

/**
 * A single key is read as by YurtHub's filter servicetopology (pkg/yurthub/filter/servicetopology/filter.go, v1.7.0 and
 * commit fbefb6ba). A node without a pool is a pool of its own. YurtHub compares the whole value with a key, so `*` and
 * lists are ours: listed keys apply in the order node, pool, any, however they are listed.
 */
function openyurtKeys(value: string): KeyChoice {
  const listed = value.split(',').map((key) => key.trim());
  if (value.trim() === '') return { keys: [] };
  const unknown = listed.find((key) => !OPENYURT_KEYS.includes(key));
  if (unknown !== undefined) {
    throw new WrapperError(
      'InvalidPolicy',
      `${OPENYURT_ANNOTATION} holds ${quote(unknown)}, which is not one of ${OPENYURT_KEYS.join(', ')}`,
    );
  }
  const keys: string[] = [];
  if (listed.includes(HOSTNAME_KEY)) keys.push(HOSTNAME_KEY);
  if (OPENYURT_POOL_KEYS.some((key) => listed.includes(key))) keys.push(OPENYURT_POOL_LABEL);
  if (!keys.includes(HOSTNAME_KEY) && keys.length > 0) keys.push(HOSTNAME_KEY);
  if (listed.includes(ANY_KEY)) keys.push(ANY_KEY);
  return { keys };
}

/** Like CloudCore's filter EndpointResource: a node without a group sees only its own endpoints. */
function kubeedgeKeys(value: string): KeyChoice {
  if (value.trim() === KUBEEDGE_RANGE) return { keys: [KUBEEDGE_GROUP_LABEL, HOSTNAME_KEY] };
  throw new WrapperError(
    'InvalidPolicy',
    `${KUBEEDGE_ANNOTATION} is ${quote(value)}; the only value is ${KUBEEDGE_RANGE}`,
  );
}
