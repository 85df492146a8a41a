import type { View } from '../../filter/view/view.ts';
import type { ViewSource } from './view-source.ts';

/** Identifies who reads a view: an https caller, or {@link ANYONE}. */
export type CallerId = string;

/** All clients of plain http, which cannot be distinguished. */
export const ANYONE: CallerId = '';

/** A view in use. */
export interface ViewLease {
  readonly view: View;
  /** Rejects with `TooLargeResourceVersion` if the view does not reach this version. Absent: nobody waits for it. */
  readonly catchUp?: (version: bigint | undefined) => Promise<void>;
  /** Ends the use; again, it does nothing. */
  release(): void;
}

/** A lease of an open view. */
export interface EntryLease extends ViewLease {
  readonly entry: ViewEntry;
  /** Whose request reads the view; undefined: this process itself needs it. */
  readonly caller: CallerId | undefined;
}

/** An open view: it is open because of its leases, and for a while after the last request has ended. */
export class ViewEntry {
  /** A view without room keeps only its query and error; see refusedSource. */
  source: ViewSource;
  /** Whether it counts in the budget. kube-proxy's own queries, and what this process needs, do not. */
  readonly isCounted: boolean;
  readonly leases = new Set<EntryLease>();
  /** Its part of the budget. */
  bytes = 0;
  /** Whose request ended last; undefined: none has. */
  lastCaller: CallerId | undefined;
  /** When the last request ended, or the view was opened; monotonic, in milliseconds. */
  idleSince = performance.now();
  /** Closes the view. */
  timer: NodeJS.Timeout | undefined;

  constructor(isCounted: boolean, open: (entry: ViewEntry) => ViewSource) {
    this.isCounted = isCounted;
    this.source = open(this);
  }

  /** Number of requests, watches included, that read the view now. */
  get readers(): number {
    return [...this.leases].filter(({ caller }) => caller !== undefined).length;
  }

  /** Whether this process itself needs the view. */
  get isNeeded(): boolean {
    return [...this.leases].some(({ caller }) => caller === undefined);
  }

  /** Whether nobody holds it. A view without room has an end of its own. */
  get isIdle(): boolean {
    return this.leases.size === 0 && this.source.view.closed === undefined;
  }

  /** A view counts for each caller that reads it or, if none does, for the last one. */
  get callers(): readonly CallerId[] {
    const callers = new Set([...this.leases].map(({ caller }) => caller));
    callers.delete(undefined);
    if (callers.size === 0) callers.add(this.lastCaller);
    return [...callers].filter((caller) => caller !== undefined);
  }

  countsFor(caller: CallerId): boolean {
    return this.callers.includes(caller);
  }
}
