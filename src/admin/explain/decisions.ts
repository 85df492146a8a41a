import { notReady } from '../../diagnosis/reading/complete-view.ts';
import type {
  Cause,
  DecidedOutcome,
  DecisionChange,
} from '../../filter/projection/decision-journal.ts';
import type { EndpointsSource } from '../../node/views/view-source.ts';
import type { ShownState } from '../../server/node-proxy.ts';
import { keptByPolicy, winnerText } from '../../topology/state/service-outcome.ts';
import { type ViewHead, viewHead } from './explained-view.ts';

/** A decision about a Service whose result changed. */
export interface DecisionRecord {
  /** Number of the change in this view, from 1. */
  readonly number: number;
  /** ISO 8601. */
  readonly time: string;
  readonly service: string;
  /** Keys that won before, or why no key was used. null: the Service had no endpoints, or did not exist. */
  readonly from: string | null;
  readonly to: string | null;
  /** Endpoints kept before and after; null: no policy was applied. */
  readonly keptBefore: number | null;
  readonly keptAfter: number | null;
  readonly cause: Cause;
}

/** The response of /decisions. */
export interface Decisions extends ViewHead {
  /** Changes since the view was opened. Only the latest ones are kept. */
  readonly count: number;
  readonly decisions: readonly DecisionRecord[];
}

/**
 * The latest changes of decisions, oldest first. Throws `NotReady` if there is no view yet.
 *
 * @param after number of the last change that the client has
 * @param limit maximum number of changes; the latest ones are returned
 */
export function decisionsOf(proxy: ShownState, after: number, limit: number): Decisions {
  const source = proxy.views.kubeProxy.endpoints;
  if (source === undefined) throw notReady(proxy);
  const { journal } = source.projection;
  const first = Math.max(after, journal.count - limit);
  return {
    ...viewHead(proxy, source),
    count: journal.count,
    decisions: Array.from(journal.after(first), recordOf),
  };
}

/** The latest changes of the decision about one Service, the newest first. */
export function lastChanges(
  { projection: { journal } }: EndpointsSource,
  service: string,
  limit: number,
): DecisionRecord[] {
  const changes = [...journal.after(0)].filter((change) => change.service === service);
  return changes.slice(-limit).reverse().map(recordOf);
}

/** Converts a change to the format of the response, with its time of day. */
function recordOf({ number, at, service, from, to, cause }: DecisionChange): DecisionRecord {
  // A view uses a monotonic clock, which has no time of day.
  const time = new Date(Date.now() + at - performance.now()).toISOString();
  return {
    number,
    time,
    service,
    cause,
    from: from ? winnerText(from.outcome) : null,
    to: to ? winnerText(to.outcome) : null,
    keptBefore: keptOf(from),
    keptAfter: keptOf(to),
  };
}

/** A Service without endpoints keeps 0. */
function keptOf(decided: DecidedOutcome | undefined): number | null {
  return decided === undefined ? 0 : (keptByPolicy(decided.outcome) ?? null);
}
