import { WrapperError } from '../../errors.ts';
import type { NodeProxy } from '../../proxy/node-proxy.ts';
import type { OutcomeKind, ServiceExplanation } from '../../topology/explain/explanation.ts';
import { matchesLabels, parseLabelSelector } from '../../topology/policy/label-selector.ts';
import { TimeSlice } from '../time-slice.ts';
import { type ResponseHead, responseHead } from '../version-info.ts';
import { explainIn, IN_SHORT, notStarted } from './explained-service.ts';
import {
  type ExplainedView,
  explainedView,
  findService,
  nameOf,
  type ViewName,
} from './explained-view.ts';

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
  /** Codes of warnings, without those of severity info. */
  readonly warnings: readonly string[];
}

/** The response of /explain. */
export interface Summary extends ResponseHead {
  readonly node: string;
  readonly view: ViewName;
  readonly services: readonly ServiceSummary[];
  /** The selector that was applied; undefined: none. */
  readonly labelSelector?: string;
  /** Value of `after` for the next page; undefined: this is the last one. */
  readonly next?: string;
}

export interface SummaryOptions {
  /** Only Services of this namespace. */
  readonly namespace?: string;
  /** Only Services whose labels it matches. */
  readonly labelSelector?: string;
  /** Only Services with warnings. */
  readonly warnings: boolean;
  /** Only Services after this one, sorted by name. */
  readonly after: string;
  /** Maximum number of Services. */
  readonly limit: number;
}

/** Summarizes all Services, sorted by name. Throws `NotReady`, and `NotFound` for a namespace without Services. */
export async function summarize(
  proxy: NodeProxy,
  options: SummaryOptions,
  slice: TimeSlice = new TimeSlice(),
): Promise<Summary> {
  const view = explainedView(proxy);
  if (!view.source.view.started) throw notStarted(proxy);
  const names = knownServices(proxy, view);
  const { namespace, labelSelector, after, limit } = options;
  const inNamespace = [...names].filter(
    (name) => namespace === undefined || name.startsWith(`${namespace}/`),
  );
  if (namespace !== undefined && inNamespace.length === 0) {
    const what = `there is no Service in namespace ${namespace} that kube-proxy watches`;
    throw new WrapperError('NotFound', what);
  }
  const wanted = inNamespace
    .filter((name) => name > after)
    .filter(selectedBy(proxy, labelSelector))
    .sort();
  const services: ServiceSummary[] = [];
  let next: string | undefined;
  for (const name of wanted) {
    if (slice.isOver) await slice.yield();
    const last = services.at(-1);
    if (services.length >= limit && last !== undefined) {
      next = last.service;
      break;
    }
    const summary = shorten(await slice.run(explainIn(proxy, view, name, IN_SHORT)));
    if (!options.warnings || summary.warnings.length > 0) services.push(summary);
  }
  const { nodeName } = proxy.topology;
  const head = { node: nodeName, view: nameOf(proxy, view.source), ...responseHead(proxy) };
  const answer = { ...head, services };
  const selected = labelSelector === undefined ? answer : { ...answer, labelSelector };
  return next === undefined ? selected : { ...selected, next };
}

/** Whether the labels of a Service match a selector. A Service that only has endpoints has no labels. */
function selectedBy(proxy: NodeProxy, selector: string | undefined): (service: string) => boolean {
  if (selector === undefined) return () => true;
  const parsed = parseLabelSelector(selector);
  return (service) => {
    const found = findService(proxy, service);
    const labels = found?.source.view.codec.partialMetadata(found.object).labels;
    return matchesLabels(parsed, labels ?? new Map());
  };
}

/** All Services that have a policy or endpoints. */
export function knownServices({ topology }: NodeProxy, { projection }: ExplainedView): Set<string> {
  return new Set([...topology.policies.services(), ...projection.services()]);
}

/** Turns an explanation into one line. */
export function shorten(explanation: ServiceExplanation): ServiceSummary {
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
    ...(since === undefined ? {} : { since }),
    warnings: serious.map(({ code }) => code),
  };
}
