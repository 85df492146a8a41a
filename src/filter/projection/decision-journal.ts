/** What was answered about a Service. */
export interface Answer {
  /** Names the keys that won for each port: as long as these are the same, so is the answer. */
  readonly id: string;
  /** Keys that won, or why no key was asked; for people. */
  readonly winner: string;
  /** Endpoints that the answer keeps; undefined: no policy selects any. */
  readonly kept: number | undefined;
  /** Tells apart which of the same endpoints are kept; undefined: all. */
  readonly mask: number | undefined;
}

/**
 * What made a view decide again:
 * - `endpoints`: an EndpointSlice or Endpoints object changed; the subject is its `namespace/name`
 * - `policy`: the policy of the Service changed, or the Service itself came or went
 * - `own-node`: this node's labels or communities changed; the subject names the topology keys concerned
 * - `nodes`: other nodes entered or left a relation; the subject names them
 * - `return-delay`: a nearer key was ready for long enough
 */
export type CauseKind = 'endpoints' | 'policy' | 'own-node' | 'nodes' | 'return-delay';

export interface Cause {
  readonly kind: CauseKind;
  readonly subject: string;
}

/** A decision that came out different. */
export interface DecisionChange {
  /** Counts all changes of this view, from 1. */
  readonly number: number;
  /** Milliseconds of the view's clock. */
  readonly at: number;
  readonly service: string;
  /** Undefined: the Service had no endpoints, or was not known. */
  readonly from: Answer | undefined;
  /** Undefined: it has none any more. */
  readonly to: Answer | undefined;
  readonly cause: Cause;
}

/** Changes that are remembered; about 200 bytes each. */
const CAPACITY = 1_000;

/** The latest changes of the decisions of one view. Owned by its projection, and gone with it. */
export class DecisionJournal {
  readonly #ring: DecisionChange[] = [];
  #count = 0;

  /** All changes since the start of the view, remembered or not. */
  get count(): number {
    return this.#count;
  }

  /**
   * Notes what an answer became, if it is another one: other keys, another number of endpoints, or, when the
   * endpoints are still the same, others of them.
   */
  record(
    at: number,
    service: string,
    from: Answer | undefined,
    to: Answer | undefined,
    cause: Cause,
  ): void {
    const sameMask = cause.kind === 'endpoints' || from?.mask === to?.mask;
    if (from?.id === to?.id && from?.kept === to?.kept && sameMask) return;
    const number = ++this.#count;
    this.#ring[number % CAPACITY] = { number, at, service, from, to, cause };
  }

  /** The changes behind a number that are still remembered, oldest first. */
  *after(number: number): Generator<DecisionChange> {
    const oldest = Math.max(number, this.#count - CAPACITY, 0);
    for (let each = oldest + 1; each <= this.#count; each++) {
      yield this.#ring[each % CAPACITY] as DecisionChange;
    }
  }
}
