import type { Reservation } from './view-budget.ts';
import type { ViewSource } from './view-source.ts';

/**
 * Why a view remains open without users:
 * - `topology`: the topology needs it
 * - `kube-proxy`: a kube-proxy has read it last
 * - `default`: the newest kube-proxy would read it, and none has come yet
 */
export type PinnedBy = 'topology' | 'kube-proxy' | 'default';

/** An open view, with its users and its timer. */
export interface OpenView {
  /** A refused view keeps only its query and error; see {@link refusedSource}. */
  source: ViewSource;
  /** Its part of the budget; undefined for kube-proxy's own queries and for what the topology needs. */
  readonly reservation: Reservation | undefined;
  readonly pinnedBy: Set<PinnedBy>;
  users: number;
  /** The timer that closes the view while it has no users. */
  idleTimer: NodeJS.Timeout | undefined;
  /** Since when it has no users; monotonic, in milliseconds. */
  idleSince: number;
}

/** The source of a refused view, without anything that takes memory. */
export function refusedSource(
  { query, view, status }: ViewSource,
  close: () => Promise<void>,
): ViewSource {
  return { query, view, projection: undefined, status, find: () => undefined, close };
}
