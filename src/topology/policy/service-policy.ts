/*
 * The room `policy`: which policy applies to a Service. It reads annotations and settings, and needs nothing of the
 * cluster but the Service and its Namespace.
 *
 * - service-policy.ts: the policy of one Service, from its annotations, its Namespace and the settings
 * - policy-resolver.ts: the same for all Services, when a Namespace changes
 * - policy.ts: what a policy is
 * - key-sources.ts, topology-keys.ts, allowed-keys.ts: where topology keys come from, and which are valid and allowed
 * - min-ready.ts: the annotation min-ready
 * - annotation-names.ts, ignored-annotations.ts: the annotations that are read, and probable mistakes in others
 * - service-reader.ts: which Services and slices kube-proxy uses
 * - similar-key.ts: the label key that was probably meant
 * - label.ts, label-selector.ts: Kubernetes labels
 */

import { WrapperError } from '../../errors.ts';
import { assertAllowedKeys } from './allowed-keys.ts';
import { FILTER_ANNOTATION } from './annotation-names.ts';
import { ignoredAnnotations } from './ignored-annotations.ts';
import {
  annotatedKeySources,
  type CompatibleSystem,
  hintsSourceOf,
  type KeySource,
  keysAnnotation,
  unreadAnnotations,
} from './key-sources.ts';
import { minReadyOf } from './min-ready.ts';
import type { ManagedPolicy, Policy, PolicySource, UnmanagedReason } from './policy.ts';
import { quote } from './quote.ts';
import { type KeyChoice, parseKeyChoice } from './topology-keys.ts';

export { FILTER_ANNOTATION, TOPOLOGY_KEYS_ANNOTATION } from './annotation-names.ts';

/** Value of the annotation of a Service or Namespace: it is decided, but all endpoints are shown. */
export const DRY_RUN = 'dry-run';

/** Names in the annotation min-ready without effect that a policy keeps. The owner of a Service can write thousands. */
const MAX_UNUSED = 5;
/** No label key is longer. */
const MAX_LABEL_KEY = 317;

/** The parts of a Service that its policy depends on. */
export interface ServiceDescription {
  readonly namespace: string;
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: ReadonlyMap<string, string>;
  /** clusterIP is `None`. */
  readonly headless: boolean;
  /** Nobody uses its endpoints, see readerOf. Default: false. */
  readonly isUnread?: boolean;
  /** `internalTrafficPolicy: Local`. */
  readonly internalLocal: boolean;
  /** `externalTrafficPolicy: Local`. */
  readonly externalLocal: boolean;
  /** `spec.trafficDistribution`; default: empty. */
  readonly trafficDistribution?: string;
}

/** Hides the Services that another proxy serves, by a label of the Service. */
export interface ServiceFilter {
  readonly label: string;
  /** Which Services kube-proxy does not see: those with the label, or those without. */
  readonly hides: 'labelled' | 'unlabelled';
}

/** The settings that policies depend on. */
export interface PolicySettings {
  /** Keys of Services without an annotation; if empty, these Services are not filtered. */
  readonly defaults: KeyChoice;
  /** Patterns of the label keys that policies may use; see isAllowedKey. */
  readonly allowedTopologyKeys: readonly string[];
  /** Whether headless Services are managed too. */
  readonly headless: boolean;
  /** Systems whose annotations are read besides our own. */
  readonly compatibility: readonly CompatibleSystem[];
  readonly serviceFilter?: ServiceFilter;
  /** Ready endpoints that a topology key needs to count. */
  readonly minReady: ReadonlyMap<string, number>;
  /** Decide, but show all endpoints. */
  readonly dryRun?: boolean;
  /** `namespace/name` of the Service whose endpoints are relays; default: none. */
  readonly relayService?: string | undefined;
}

/** The annotations of a Namespace that policies of its Services depend on. */
export interface NamespacePolicy {
  /** Annotation `kube-proxy-wrapper.io/topology-keys` or `topologyKeys`. */
  readonly keys?: string | undefined;
  /** Annotation `kube-proxy-wrapper.io/filter`, see {@link filterOf}. */
  readonly filter?: string | undefined;
  /** Annotations without effect, and why; absent: none. */
  readonly ignored?: readonly string[] | undefined;
}

/** The policy in the annotations of a Namespace. */
export function namespacePolicyOf(annotations: ReadonlyMap<string, string>): NamespacePolicy {
  return {
    keys: keysAnnotation(annotations),
    filter: filterOf(annotations),
    ignored: ignoredAnnotations(annotations),
  };
}

/**
 * Returns what applies to a Service. Never throws: an invalid annotation must not cut traffic, so the Service is not
 * filtered and the result reports the error.
 *
 * @param own its {@link ignoredAnnotations}, where `service` lacks the annotations that are not read
 */
export function policyFor(
  service: ServiceDescription,
  settings: PolicySettings,
  namespace: NamespacePolicy = {},
  own = ignoredAnnotations(service.annotations),
): Policy {
  const { annotations } = service;
  const policy = chosenPolicy(service, settings, namespace);
  // Whoever switched filtering off may mean them for the other system.
  const isMeant = policy.managed || policy.reason === 'no-policy';
  const unread = isMeant ? unreadAnnotations(annotations, settings.compatibility) : [];
  const ignored = unread.length === 0 ? own : [...unread, ...(own ?? [])];
  return { ...policy, ignored };
}

function chosenPolicy(
  service: ServiceDescription,
  settings: PolicySettings,
  namespace: NamespacePolicy,
): Policy {
  if (isOfOtherProxy(service, settings.serviceFilter)) {
    return { managed: false, reason: 'other-proxy', dryRun: settings.dryRun || undefined };
  }
  if (service.isUnread === true) return unmanaged('not-read');
  const ownFilter = filterOf(service.annotations);
  const filter = ownFilter ?? namespace.filter;
  if (filter === 'off') return unmanaged('service-off');
  if (service.internalLocal) return unmanaged('local-traffic-policy');
  if (service.headless && !settings.headless) return unmanaged('headless');
  // Whether the annotation that is being read belongs to the Namespace, in case it is invalid.
  let ofNamespace = ownFilter === undefined;
  try {
    assertFilter(filter);
    const [{ source, read } = NO_SOURCE] = keySourcesOf(service, settings, namespace.keys);
    ofNamespace = source === 'namespace';
    const choice = readAllowed(read, settings);
    ofNamespace = false;
    // As in Kubernetes' own topologyKeys: an empty list means no constraint, and overrides a default.
    if (choice.keys.length === 0) {
      return unmanaged(reasonForNone(service, source));
    }
    const policy = managed(service, settings, source, choice);
    const dryRun = settings.dryRun === true || filter === DRY_RUN;
    return dryRun ? { ...policy, dryRun } : policy;
  } catch (error) {
    const { message } = WrapperError.from(error, 'InvalidPolicy');
    const invalid = { managed: false, reason: 'invalid-policy', message } as const;
    return ofNamespace ? { ...invalid, ofNamespace } : invalid;
  }
}

/** Checks the annotations of a Namespace, whether or not a Service uses them. Throws `InvalidPolicy`. */
export function assertNamespacePolicy(
  { keys, filter }: NamespacePolicy,
  settings: Pick<PolicySettings, 'allowedTopologyKeys'>,
): void {
  assertFilter(filter);
  if (keys !== undefined) readAllowed(() => parseKeyChoice(keys), settings);
}

/** Reads the keys of a source. Throws `InvalidPolicy`, also for a key that the settings do not allow. */
export function readAllowed(
  read: KeySource['read'],
  { allowedTopologyKeys }: Pick<PolicySettings, 'allowedTopologyKeys'>,
): KeyChoice {
  const choice = read();
  assertAllowedKeys(choice.keys, allowedTopologyKeys);
  return choice;
}

/** The value of {@link FILTER_ANNOTATION}, without surrounding space. */
export function filterOf(annotations: ReadonlyMap<string, string>): string | undefined {
  return annotations.get(FILTER_ANNOTATION)?.trim();
}

/** Throws `InvalidPolicy` for an unknown value: a mistyped dry run must not take effect. */
function assertFilter(filter: string | undefined): void {
  if (filter === undefined || filter === 'on' || filter === 'off' || filter === DRY_RUN) return;
  throw new WrapperError(
    'InvalidPolicy',
    `${FILTER_ANNOTATION} is ${quote(filter)}; write off, ${DRY_RUN} or on`,
  );
}

/** Whether a Service must be hidden because another proxy serves it; never `default/kubernetes`. */
export function isOfOtherProxy(
  service: Pick<ServiceDescription, 'namespace' | 'name' | 'labels'>,
  filter: ServiceFilter | undefined,
): boolean {
  if (filter === undefined || isKubernetesService(service)) return false;
  return service.labels.has(filter.label) === (filter.hides === 'labelled');
}

/** Whether this is `default/kubernetes`, the API server itself. */
export function isKubernetesService({
  namespace,
  name,
}: Pick<ServiceDescription, 'namespace' | 'name'>): boolean {
  return namespace === 'default' && name === 'kubernetes';
}

function unmanaged(reason: UnmanagedReason): Policy {
  return { managed: false, reason };
}

/** Why the source that applies to a Service names no keys. */
function reasonForNone(service: ServiceDescription, source: PolicySource): UnmanagedReason {
  if (isKubernetesService(service)) return 'kubernetes-service';
  return source === 'traffic-distribution' || source === 'topology-mode' ? source : 'no-policy';
}

const NO_SOURCE: KeySource = { source: 'default', read: () => ({ keys: [] }) };

/**
 * All sources that name keys for a Service: its own annotations, else its Namespace, else the settings. The first one
 * applies. A Service that requests hints from Kubernetes has chosen itself, so that neither its Namespace nor a default
 * may cut them.
 *
 * @param namespaceKeys the keys annotation of its Namespace, if it has one and Namespaces are read
 */
export function keySourcesOf(
  service: ServiceDescription,
  settings: PolicySettings,
  namespaceKeys: string | undefined,
): readonly KeySource[] {
  const sources = annotatedKeySources(service.annotations, settings.compatibility);
  if (isKubernetesService(service)) return sources;
  const hints = hintsSourceOf(service);
  if (hints !== undefined) sources.push({ source: hints, read: () => ({ keys: [] }) });
  if (namespaceKeys !== undefined) {
    sources.push({ source: 'namespace', read: () => parseKeyChoice(namespaceKeys) });
  }
  if (settings.defaults.keys.length > 0) {
    sources.push({ source: 'default', read: () => settings.defaults });
  }
  return sources;
}

function managed(
  { namespace, name, annotations, externalLocal, headless }: ServiceDescription,
  settings: PolicySettings,
  source: PolicySource,
  { keys, edgeOnly }: KeyChoice,
): ManagedPolicy {
  const own = minReadyOf(annotations);
  const minReady = new Map([...settings.minReady, ...own]);
  const unused = own.map(([key]) => key).filter((key) => !keys.includes(key));
  const named = unused.slice(0, MAX_UNUSED).map((key) => key.slice(0, MAX_LABEL_KEY));
  const counts = keys.map((key) => minReady.get(key) ?? 1);
  return {
    managed: true,
    keys,
    source,
    edgeOnly,
    keepsLocal: externalLocal || undefined,
    headless: headless || undefined,
    ofRelays: settings.relayService === `${namespace}/${name}` || undefined,
    minReady: counts.some((count) => count > 1) ? counts : undefined,
    unusedMinReady: named.length > 0 ? named : undefined,
    moreUnusedMinReady: unused.length - named.length || undefined,
  };
}
