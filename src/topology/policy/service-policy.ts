import { WrapperError } from '../../errors.ts';
import { assertAllowedKeys } from './allowed-keys.ts';
import {
  ANY_KEY,
  HOSTNAME_KEY,
  type KeyChoice,
  type ManagedPolicy,
  type Policy,
  type PolicySource,
  parseKeyChoice,
  quote,
  type UnmanagedReason,
} from './policy.ts';

/** Annotation of a Service or Namespace that holds its topology keys. */
export const TOPOLOGY_KEYS_ANNOTATION = 'topologyKeys';
/** Annotation of a Service: a JSON object of topology key → ready endpoints it needs to count. */
export const MIN_READY_ANNOTATION = 'kube-proxy-wrapper.io/min-ready';
/** Annotation of a Service: how long a nearer key must be ready before it is returned to, e.g. `30s`. */
export const RETURN_DELAY_ANNOTATION = 'kube-proxy-wrapper.io/return-delay';
/**
 * Annotation of a Service, Namespace or Node: `off` switches filtering off for it, `on` leaves it on whatever the
 * Namespace says; see also {@link DRY_RUN}.
 */
export const FILTER_ANNOTATION = 'kube-proxy-wrapper.io/filter';
/** Value of the annotation of a Service or Namespace by which is decided, but everything shown. */
export const DRY_RUN = 'dry-run';

/** Label of a Service that another proxy serves: kube-proxy never asks for these, nor does the world. */
export const PROXY_NAME_LABEL = 'service.kubernetes.io/service-proxy-name';

/** OpenYurt's annotation, and the label that names a node's pool. */
const OPENYURT_ANNOTATION = 'openyurt.io/topologyKeys';
const OPENYURT_POOL_LABEL = 'apps.openyurt.io/nodepool';
const OPENYURT_POOL_KEYS = ['openyurt.io/nodepool', 'kubernetes.io/zone'];
const OPENYURT_KEYS = [HOSTNAME_KEY, ...OPENYURT_POOL_KEYS, ANY_KEY];
/** KubeEdge's annotation, its only value, and the label that names a node's group. */
const KUBEEDGE_ANNOTATION = 'apps.kubeedge.io/service-topology';
const KUBEEDGE_RANGE = 'range-nodegroup';
const KUBEEDGE_GROUP_LABEL = 'apps.kubeedge.io/belonging-to';

/** A Service as far as its policy depends on it. */
export interface ServiceDescription {
  readonly namespace: string;
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: ReadonlyMap<string, string>;
  /** clusterIP is `None`. */
  readonly headless: boolean;
  /** Internal or external traffic policy is Local. */
  readonly localTraffic: boolean;
}

/** Hides the Services that another proxy serves, told by a label of the Service. */
export interface ServiceFilter {
  readonly label: string;
  /** Which Services kube-proxy does not see: those with the label, or those without. */
  readonly hides: 'labelled' | 'unlabelled';
}

/** What the owner of the cluster sets for Services that say nothing themselves. */
export interface PolicySettings {
  /** Keys of Services without an annotation; without keys these are left alone. */
  readonly defaults: KeyChoice;
  /** Patterns of the label keys that policies may use; see isAllowedKey. */
  readonly allowedTopologyKeys: readonly string[];
  /** Whether headless Services are managed too. */
  readonly headless: boolean;
  /** Whose annotations are read besides ours. */
  readonly compatibility: readonly ('openyurt' | 'kubeedge')[];
  readonly serviceFilter?: ServiceFilter;
  /** Ready endpoints that a topology key needs to count. */
  readonly minReady: ReadonlyMap<string, number>;
  /** How long a nearer key must be ready before it is returned to, in milliseconds. */
  readonly returnDelayMs: number;
  /** Decide, but show everything. */
  readonly dryRun?: boolean;
}

/** What the annotations of a Namespace say of its Services, where these are read. */
export interface NamespacePolicy {
  /** Annotation `topologyKeys`. */
  readonly keys?: string | undefined;
  /** Annotation `kube-proxy-wrapper.io/filter`, see {@link filterOf}. */
  readonly filter?: string | undefined;
}

/**
 * Says what applies to a Service. Never throws: an annotation that cannot be read leaves the Service alone
 * and is reported in the result, for it must not cut traffic.
 */
export function policyFor(
  service: ServiceDescription,
  settings: PolicySettings,
  namespace: NamespacePolicy = {},
): Policy {
  if (isOfOtherProxy(service, settings.serviceFilter)) {
    return { ...unmanaged('other-proxy'), ...(settings.dryRun === true ? { dryRun: true } : {}) };
  }
  const ownFilter = filterOf(service.annotations);
  const filter = ownFilter ?? namespace.filter;
  if (filter === 'off') return unmanaged('service-off');
  if (service.localTraffic) return unmanaged('local-traffic-policy');
  if (service.headless && !settings.headless) return unmanaged('headless');
  // Whose annotation is being read.
  let ofNamespace = ownFilter === undefined;
  try {
    assertFilter(filter);
    const { source, read } = chosenBy(service, settings, namespace.keys);
    ofNamespace = source === 'namespace';
    const choice = readAllowed(read, settings);
    ofNamespace = false;
    // As in Kubernetes' own topologyKeys: an empty list means no constraint, and overrides a default.
    if (choice.keys.length > 0) {
      const policy = managed(service, settings, { source, choice });
      const dryRun = settings.dryRun === true || filter === DRY_RUN;
      return dryRun ? { ...policy, dryRun } : policy;
    }
    return unmanaged(isKubernetesService(service) ? 'kubernetes-service' : 'no-policy');
  } catch (error) {
    const { message } = WrapperError.from(error, 'InvalidPolicy');
    const invalid = { managed: false, reason: 'invalid-policy', message } as const;
    return ofNamespace ? { ...invalid, ofNamespace } : invalid;
  }
}

/** Checks what the annotations of a Namespace say, whether or not a Service follows it. Throws `InvalidPolicy`. */
export function assertNamespacePolicy(
  { keys, filter }: NamespacePolicy,
  settings: Pick<PolicySettings, 'allowedTopologyKeys'>,
): void {
  assertFilter(filter);
  if (keys !== undefined) readAllowed(() => parseKeyChoice(keys), settings);
}

/** What a place chooses. Throws `InvalidPolicy`, also for a key that the settings do not allow. */
export function readAllowed(
  read: SourcedChoice['read'],
  { allowedTopologyKeys }: Pick<PolicySettings, 'allowedTopologyKeys'>,
): KeyChoice {
  const choice = read();
  assertAllowedKeys(choice.keys, allowedTopologyKeys);
  return choice;
}

/** The value of {@link FILTER_ANNOTATION}; space around it does not count. */
export function filterOf(annotations: ReadonlyMap<string, string>): string | undefined {
  return annotations.get(FILTER_ANNOTATION)?.trim();
}

/** Throws `InvalidPolicy` for a value of {@link FILTER_ANNOTATION} that is none: a dry run mistyped must not be live. */
function assertFilter(filter: string | undefined): void {
  if (filter === undefined || filter === 'on' || filter === 'off' || filter === DRY_RUN) return;
  throw new WrapperError(
    'InvalidPolicy',
    `${FILTER_ANNOTATION} is ${quote(filter)}; write off, ${DRY_RUN} or on`,
  );
}

/** Whether the policy of a Service may depend on its Namespace. */
export function followsNamespace(service: ServiceDescription, settings: PolicySettings): boolean {
  if (!service.annotations.has(FILTER_ANNOTATION)) return true;
  // Only its own annotation gives this one keys.
  return !isKubernetesService(service) && serviceChoices(service, settings).length === 0;
}

/** Whether a Service is to be hidden because another proxy serves it; never `default/kubernetes`. */
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

interface Choice {
  readonly source: PolicySource;
  readonly choice: KeyChoice;
}

/** The nearest to the Service that says something: itself, its Namespace, the cluster's default. */
function chosenBy(
  service: ServiceDescription,
  settings: PolicySettings,
  namespaceKeys: string | undefined,
): SourcedChoice {
  const [own] = serviceChoices(service, settings);
  if (own !== undefined) return own;
  if (isKubernetesService(service)) return { source: 'default', read: () => ({ keys: [] }) };
  if (namespaceKeys === undefined) return { source: 'default', read: () => settings.defaults };
  return { source: 'namespace', read: () => parseKeyChoice(namespaceKeys) };
}

/** A place that chooses keys; `read` throws `InvalidPolicy`. */
export interface SourcedChoice {
  readonly source: PolicySource;
  readonly read: () => KeyChoice;
}

/** All annotations of the Service that choose keys; the first one counts. */
export function serviceChoices(
  { annotations }: ServiceDescription,
  { compatibility }: PolicySettings,
): readonly SourcedChoice[] {
  const choices: SourcedChoice[] = [];
  const ours = annotations.get(TOPOLOGY_KEYS_ANNOTATION);
  if (ours !== undefined) choices.push({ source: 'annotation', read: () => parseKeyChoice(ours) });
  const openyurt = annotations.get(OPENYURT_ANNOTATION);
  if (openyurt !== undefined && compatibility.includes('openyurt')) {
    choices.push({ source: 'openyurt', read: () => openyurtKeys(openyurt) });
  }
  const kubeedge = annotations.get(KUBEEDGE_ANNOTATION);
  if (kubeedge !== undefined && compatibility.includes('kubeedge')) {
    choices.push({ source: 'kubeedge', read: () => kubeedgeKeys(kubeedge) });
  }
  return choices;
}

/**
 * As YurtHub's filter servicetopology: this node, then its pool, then anything, as far as they are listed,
 * in any order. A node in no pool is a pool of its own.
 */
function openyurtKeys(value: string): KeyChoice {
  const listed = value.split(',').map((key) => key.trim());
  if (value.trim() === '') return { keys: [] };
  const unknown = listed.find((key) => !OPENYURT_KEYS.includes(key));
  if (unknown !== undefined) {
    throw new WrapperError(
      'InvalidPolicy',
      `${OPENYURT_ANNOTATION} holds ${quote(unknown)}, none of ${OPENYURT_KEYS.join(', ')}`,
    );
  }
  const keys: string[] = [];
  if (listed.includes(HOSTNAME_KEY)) keys.push(HOSTNAME_KEY);
  if (OPENYURT_POOL_KEYS.some((key) => listed.includes(key))) keys.push(OPENYURT_POOL_LABEL);
  if (!keys.includes(HOSTNAME_KEY) && keys.length > 0) keys.push(HOSTNAME_KEY);
  if (listed.includes(ANY_KEY)) keys.push(ANY_KEY);
  return { keys };
}

/** As CloudCore's filter EndpointResource: a node in no group sees what runs on itself. */
function kubeedgeKeys(value: string): KeyChoice {
  if (value.trim() === KUBEEDGE_RANGE) return { keys: [KUBEEDGE_GROUP_LABEL, HOSTNAME_KEY] };
  throw new WrapperError(
    'InvalidPolicy',
    `${KUBEEDGE_ANNOTATION} is ${quote(value)}; the only value is ${KUBEEDGE_RANGE}`,
  );
}

function managed(
  service: ServiceDescription,
  settings: PolicySettings,
  { source, choice: { keys, edgeOnly } }: Choice,
): ManagedPolicy {
  const own = minReadyOf(service);
  const minReady = new Map([...settings.minReady, ...own]);
  const unusedMinReady = own.map(([key]) => key).filter((key) => !keys.includes(key));
  const counts = keys.map((key) => minReady.get(key) ?? 1);
  const returnDelayMs = returnDelayOf(service, settings);
  return {
    managed: true,
    keys,
    source,
    ...(edgeOnly === true ? { edgeOnly } : {}),
    ...(counts.some((count) => count > 1) ? { minReady: counts } : {}),
    ...(unusedMinReady.length > 0 ? { unusedMinReady } : {}),
    ...(returnDelayMs > 0 ? { returnDelayMs } : {}),
  };
}

/** What the annotation of the Service says, by key. */
function minReadyOf({ annotations }: ServiceDescription): readonly [string, number][] {
  const text = annotations.get(MIN_READY_ANNOTATION);
  if (text === undefined) return [];
  let counts: unknown;
  try {
    counts = JSON.parse(text);
  } catch {
    counts = undefined;
  }
  const valid =
    typeof counts === 'object' && counts !== null && !Array.isArray(counts) && areCounts(counts);
  if (valid) return Object.entries(counts as object);
  throw new WrapperError(
    'InvalidPolicy',
    `${MIN_READY_ANNOTATION} is ${quote(text)}; write a JSON object of whole numbers from 1 on, such as ` +
      `'{"${HOSTNAME_KEY}":2}'`,
  );
}

function areCounts(counts: object): boolean {
  return Object.values(counts).every((count) => Number.isSafeInteger(count) && count >= 1);
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };
/** A longer delay is a mistake: timers cannot wait longer than 24 days, and nobody should want to. */
const MAX_RETURN_DELAY_MS = 24 * 3_600_000;

function returnDelayOf({ annotations }: ServiceDescription, settings: PolicySettings): number {
  const text = annotations.get(RETURN_DELAY_ANNOTATION);
  if (text === undefined) return settings.returnDelayMs;
  const [, count, unit = ''] = /^([0-9]{1,9})([smh])$/.exec(text.trim()) ?? [];
  const delay = Number(count) * (UNITS_MS[unit] ?? Number.NaN);
  if (delay <= MAX_RETURN_DELAY_MS) return delay;
  throw new WrapperError(
    'InvalidPolicy',
    `${RETURN_DELAY_ANNOTATION} is ${quote(text)}; write a time of at most 24h, such as 30s or 5m`,
  );
}
