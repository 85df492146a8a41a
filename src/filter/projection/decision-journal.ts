import type { ServiceOutcome } from '../../topology/state/service-outcome.ts';
import type { TopologyChange } from '../../topology/state/topology-change.ts';
import { firstFew } from '../../util/first-few.ts';
import type { EndpointsFacts } from '../codec/codec.ts';
import type { Change } from '../objects/change.ts';

/** The outcome of a decision, with what tells it from another one. */
export interface DecidedOutcome {
  readonly outcome: ServiceOutcome;
  /** Identifies the keys that won for each port, or the reason for none. */
  readonly id: string;
  /** A hash of which endpoints are kept. */
  readonly mask: number;
  /** Since when the same keys have won, in milliseconds of the clock. */
  readonly since: number;
}

/**
 * What made a view decide again:
 * - `endpoints`: an EndpointSlice or Endpoints object changed; the subject is its `namespace/name`
 * - `policy`: the policy of the Service changed, or the Service itself was created or deleted
 * - `own-node`: this node's labels or communities changed; the subject names the topology keys concerned
 * - `nodes`: other nodes began or ceased to match a topology key; the subject names them
 */
export type CauseKind = 'endpoints' | 'policy' | 'own-node' | 'nodes';

export interface Cause {
  readonly kind: CauseKind;
  readonly subject: string;
}

/** A decision whose result differs from the one before. */
export interface DecisionChange {
  /** Serial number among all changes of this view, from 1. */
  readonly number: number;
  /** Milliseconds of the view's clock. */
  readonly at: number;
  readonly service: string;
  /** Undefined: the Service had no endpoints objects, or was unknown. */
  readonly from: DecidedOutcome | undefined;
  /** Undefined: it no longer has any. */
  readonly to: DecidedOutcome | undefined;
  readonly cause: Cause;
}

/** How many changes are kept; each takes about 200 bytes. */
const CAPACITY = 1_000;

/** The latest decision changes of one view. Belongs to its projection. */
export class DecisionJournal {
  readonly #onChange: (change: DecisionChange) => void;
  readonly #ring: DecisionChange[] = [];
  #count = 0;

  constructor(onChange: (change: DecisionChange) => void = () => {}) {
    this.#onChange = onChange;
  }

  /** Number of changes since the view started, including those no longer kept. */
  get count(): number {
    return this.#count;
  }

  /**
   * Adds a decision if it differs from the one before: in the keys, in the number of endpoints, or in which
   * endpoints are kept. Which endpoints are kept does not count if the endpoints themselves changed.
   */
  add(
    at: number,
    service: string,
    from: DecidedOutcome | undefined,
    to: DecidedOutcome | undefined,
    cause: Cause,
  ): void {
    if (isSameDecision(from, to, cause)) return;
    const number = ++this.#count;
    const change: DecisionChange = { number, at, service, from, to, cause };
    this.#ring[number % CAPACITY] = change;
    this.#onChange(change);
  }

  /** The kept changes with a higher number than this, oldest first. */
  *after(number: number): Generator<DecisionChange> {
    const oldest = Math.max(number, this.#count - CAPACITY, 0);
    for (let next = oldest + 1; next <= this.#count; next++) {
      yield this.#ring[next % CAPACITY] as DecisionChange;
    }
  }
}

function isSameDecision(
  from: DecidedOutcome | undefined,
  to: DecidedOutcome | undefined,
  { kind }: Cause,
): boolean {
  if (from?.id !== to?.id) return false;
  // Without a policy all endpoints are shown, whatever they are.
  if (to?.outcome.reason !== undefined) return true;
  return (
    from?.outcome.kept === to?.outcome.kept && (kind === 'endpoints' || from?.mask === to?.mask)
  );
}

/** The cause of deciding Services again because their objects changed. */
export function causeOfObjects(changes: readonly Change<EndpointsFacts>[]): Cause {
  const first = changes[0]?.key ?? '';
  return { kind: 'endpoints', subject: firstFew([first], 1, changes.length) };
}

/** The cause of deciding Services again because the topology changed. */
export function causeOfTopology({ nodes, ownNode }: TopologyChange): Cause {
  if (ownNode !== undefined) return { kind: 'own-node', subject: ownNode.join(', ') };
  if (nodes.size === 0) return { kind: 'policy', subject: '' };
  const [first = ''] = nodes.keys();
  return { kind: 'nodes', subject: firstFew([first], 1, nodes.size) };
}
