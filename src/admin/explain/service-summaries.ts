import type { ServiceExplanation } from '../../diagnosis/explain/explanation.ts';
import type { NodeReader } from '../../diagnosis/reading/node-reading.ts';
import { WrapperError } from '../../errors.ts';
import type { EndpointsSource } from '../../node/views/view-source.ts';
import type { ShownState } from '../../server/node-proxy.ts';
import { matchesLabels, parseLabelSelector } from '../../topology/policy/label-selector.ts';
import type { Policy } from '../../topology/policy/policy.ts';
import { type OutcomeKind, PORT_PROBLEMS } from '../../topology/state/service-outcome.ts';
import { explainIn, IN_SHORT } from './explained-service.ts';
import { findService, requireCompleteView, type ViewHead, viewHead } from './explained-view.ts';
import type { TimeSlice } from './time-slice.ts';

/** One line of /explain. */
export interface ServiceSummary {
  readonly service: string;
  readonly outcome: OutcomeKind;
  readonly dryRun: boolean;
  /** Source of the policy, or why there is none. */
  readonly policy: string;
  readonly keys: readonly string[];
  /** Keys that won, each once. */
  readonly winners: readonly string[];
  readonly kept: number;
  /** How many of the kept ones are ready. */
  readonly ready: number;
  readonly total: number;
  readonly since?: string;
  /** Codes of warnings, without those of severity info, each once. */
  readonly warnings: readonly string[];
}

/** The response of /explain. */
export interface ServiceSummaries extends ViewHead {
  readonly services: readonly ServiceSummary[];
  /** The selector that was applied; undefined: none. */
  readonly labelSelector?: string;
  /** Value of `after` for the next page; undefined: this is the last one. */
  readonly next?: string;
  /** Number of all Services that match; undefined: not requested. */
  readonly count?: number;
  /** Number of Services by code of a warning, whatever `warning` selects; only with `warnings` and `count`. */
  readonly kinds?: Readonly<Record<string, number>>;
}

export interface ServiceSelection {
  /** Only Services of this namespace. */
  readonly namespace?: string;
  /** Only Services whose labels it matches. */
  readonly labelSelector?: string;
  /** Only Services whose name, topology keys or policy contain all these words. */
  readonly search?: string;
  /**
   * - `filtered`: only Services with a policy that selects endpoints
   * - `failing`: only Services with a policy of which kube-proxy gets no endpoint that is ready or serving
   */
  readonly show?: 'filtered' | 'failing';
  /** Only Services with warnings. */
  readonly warnings: boolean;
  /** Code of a warning: only Services that have it. */
  readonly warning?: string;
  /** Only Services after this one, sorted by name. */
  readonly after: string;
  /** Maximum number of Services. */
  readonly limit: number;
  /** Whether the answer has the number of all Services that match. */
  readonly count?: boolean;
}

/** Summarizes all Services, sorted by name. Throws `NotReady`, and `NotFound` for a namespace without Services. */
export async function summarizeServices(
  reader: NodeReader,
  options: ServiceSelection,
  slice: TimeSlice,
): Promise<ServiceSummaries> {
  const { proxy } = reader;
  const view = requireCompleteView(proxy);
  const names = await selectServices(reader, view, options, slice);
  const explain = async (name: string): Promise<ServiceSummary> => {
    await slice.pause();
    return shorten(explainIn(proxy, view, name, IN_SHORT));
  };
  return {
    ...viewHead(proxy, view),
    labelSelector: options.labelSelector,
    ...(await firstOf(names, options, explain)),
  };
}

/**
 * The first Services, or the first ones with warnings. The others are not explained, unless their warnings are counted.
 */
async function firstOf(
  names: readonly string[],
  { limit, count = false, warnings, warning }: ServiceSelection,
  explain: (name: string) => Promise<ServiceSummary>,
): Promise<Pick<ServiceSummaries, 'services' | 'next' | 'count' | 'kinds'>> {
  const services: ServiceSummary[] = [];
  const kinds: Record<string, number> = {};
  let total = 0;
  for (const name of names) {
    const isFull = services.length === limit;
    if (isFull && !warnings) break;
    const summary = await explain(name);
    for (const code of summary.warnings) kinds[code] = (kinds[code] ?? 0) + 1;
    const isWanted = summary.warnings.some((code) => warning === undefined || code === warning);
    if (warnings && !isWanted) continue;
    total++;
    if (!isFull) services.push(summary);
    else if (!count) break;
  }
  if (!warnings) total = names.length;
  return {
    services,
    count: count ? total : undefined,
    kinds: count && warnings ? kinds : undefined,
    next: total > services.length ? services.at(-1)?.service : undefined,
  };
}

/** Names of the Services that the options select, apart from warnings, sorted. */
async function selectServices(
  reader: NodeReader,
  view: EndpointsSource,
  { namespace, labelSelector, search, show, after }: ServiceSelection,
  slice: TimeSlice,
): Promise<string[]> {
  const { proxy } = reader;
  const names = [...knownServices(proxy, view)].filter(
    (name) => namespace === undefined || name.startsWith(`${namespace}/`),
  );
  if (namespace !== undefined && names.length === 0) {
    const what = `there is no Service in namespace ${namespace} that kube-proxy watches`;
    throw new WrapperError('NotFound', what);
  }
  const failing = show === 'failing' ? failingServices(reader, view) : undefined;
  const isLabelled = selectedBy(proxy, labelSelector);
  const isFound = foundBy(proxy, search);
  const selected: string[] = [];
  for (const name of names) {
    if (name <= after || failing?.has(name) === false) continue;
    await slice.pause();
    if (show === 'filtered' && !policyOf(proxy, name).managed) continue;
    if (isLabelled(name) && isFound(name)) selected.push(name);
  }
  return selected.sort();
}

function failingServices(reader: NodeReader, { query }: EndpointsSource): Set<string> {
  const problems = reader.read().services.of(query)?.problems;
  const failing = PORT_PROBLEMS.flatMap((problem) => problems?.[problem] ?? []);
  return new Set(failing.map(({ service }) => service));
}

function policyOf({ topology }: ShownState, service: string): Policy {
  return topology.activePolicy(service) ?? topology.policies.pendingOrActive(service);
}

/** Whether a Service contains all words of a search. */
function foundBy(proxy: ShownState, search = ''): (service: string) => boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return () => true;
  return (service) => {
    const policy = policyOf(proxy, service);
    const about = policy.managed ? [policy.source, ...policy.keys] : [policy.reason];
    const text = [service, ...about].join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  };
}

/** Whether the labels of a Service match a selector. A Service that only has endpoints has no labels. */
function selectedBy(proxy: ShownState, selector: string | undefined): (service: string) => boolean {
  if (selector === undefined) return () => true;
  const parsed = parseLabelSelector(selector);
  return (service) => {
    const found = findService(proxy, service);
    const labels = found?.source.view.codec.partialMetadata(found.object).labels;
    return matchesLabels(parsed, labels ?? new Map());
  };
}

/** All Services that have a policy or endpoints. */
function knownServices({ topology }: ShownState, { projection }: EndpointsSource): Set<string> {
  return new Set([...topology.policies.services(), ...projection.services()]);
}

/** Turns an explanation into one line. */
function shorten(explanation: ServiceExplanation): ServiceSummary {
  const { service, outcome, policy, winners, counts, since, warnings } = explanation;
  const serious = warnings.filter(({ severity }) => severity === 'warning');
  return {
    service,
    outcome: outcome.kind,
    dryRun: outcome.dryRun,
    policy: policy.preset ?? (policy.managed ? policy.source : policy.reason) ?? '',
    keys: policy.keys ?? [],
    winners,
    kept: counts.kept,
    ready: counts.ready,
    total: counts.total,
    since,
    warnings: [...new Set(serious.map(({ code }) => code))],
  };
}
