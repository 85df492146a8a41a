import type { Reservation } from './view-budget.ts';
import type { ViewSource } from './view-source.ts';

/** An open view, with its users and its timer. */
export interface OpenView {
  /** A refused view keeps only its query and error; see {@link refusedSource}. */
  source: ViewSource;
  /** Its part of the budget; undefined for kube-proxy's own queries and for what the topology needs. */
  readonly reservation: Reservation | undefined;
  users: number;
  /** The timer that closes the view while it has no users; undefined for a pinned view. */
  idleTimer: NodeJS.Timeout | undefined;
  /** Since when it has no users; monotonic, in milliseconds. */
  idleSince: number;
  /** The topology needs it. */
  pinned: boolean;
  /** It remains open without users. */
  kept: boolean;
}

/** The source of a refused view, without anything that takes memory. */
export function refusedSource(
  { query, view, status }: ViewSource,
  close: () => Promise<void>,
): ViewSource {
  return { query, view, projection: undefined, status, find: () => undefined, close };
}
