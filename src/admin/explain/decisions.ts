import type { Answer, Cause, DecisionChange } from '../../filter/projection/decision-journal.ts';
import type { NodeProxy } from '../../proxy/node-proxy.ts';
import { explainedView, nameOf, type ViewName } from './explained-view.ts';

/** A decision about a Service that came out different. */
export interface DecisionRecord {
  /** Counts all of this view, from 1. */
  readonly number: number;
  /** ISO 8601. */
  readonly time: string;
  readonly service: string;
  /** Keys that won before, or why no key was asked; null: the Service had no endpoints, or was not known. */
  readonly from: string | null;
  readonly to: string | null;
  /** Endpoints kept before and after; null: no policy selected any. */
  readonly keptBefore: number | null;
  readonly keptAfter: number | null;
  readonly cause: Cause;
}

/** The answer of /decisions. */
export interface Decisions {
  readonly node: string;
  readonly view: ViewName;
  /** Changes since the view was opened; older ones than are listed are forgotten. */
  readonly count: number;
  readonly decisions: readonly DecisionRecord[];
}

/**
 * The latest decisions that came out different, oldest first. Throws `NotReady` when there is no view yet.
 *
 * @param after number of the last one known
 * @param limit at most so many, the latest
 */
export function decisionsOf(proxy: NodeProxy, after: number, limit: number): Decisions {
  const { source, projection } = explainedView(proxy);
  const { journal } = projection;
  const first = Math.max(after, journal.count - limit);
  return {
    node: proxy.topology.nodeName,
    view: nameOf(proxy, source),
    count: journal.count,
    decisions: Array.from(journal.after(first), recordOf),
  };
}

/** A change as it is told; its time is that of the day. */
export function recordOf({ number, at, service, from, to, cause }: DecisionChange): DecisionRecord {
  // The clock of a view does not know the time of day; see proxy/system-clock.ts.
  const time = new Date(Date.now() + at - performance.now()).toISOString();
  return {
    ...{ number, time, service, cause },
    ...{ from: from?.winner ?? null, to: to?.winner ?? null },
    ...{ keptBefore: keptOf(from), keptAfter: keptOf(to) },
  };
}

/** Of no endpoints none is kept. */
function keptOf(answer: Answer | undefined): number | null {
  return answer === undefined ? 0 : (answer.kept ?? null);
}
