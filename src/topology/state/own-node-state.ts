import { filterOf } from '../policy/service-policy.ts';
import { type NodeContext, sameNodeContext } from './topology-match.ts';

/** This node, from its Node object. */
export interface OwnNode {
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: ReadonlyMap<string, string>;
}

/** Communities that custom resources declare: name → names of the nodes. */
export type Communities = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * The state of this node. The methods of {@link OwnNodeState} are the transitions.
 *
 * ```text
 *            Node and communities known          node sets of `next` known
 *   unknown ───────────────────────────▶ starting ─────────────────────────▶ inForce
 *                                         │   ▲                               │   ▲
 *                                         └───┘ own labels,                   │   │ node sets of
 *                                               communities change            ▼   │ `next` known
 *                                                                 ┌───────▶ moving
 *                                                                 └───────────┘ change again
 * ```
 *
 * Policies have states of their own, see PolicyStates. A policy comes into force when the node sets that its keys
 * require in `current` are known.
 */
type NodeState =
  | { readonly kind: 'unknown'; readonly current?: undefined; readonly next?: undefined }
  | { readonly kind: 'starting'; readonly current?: undefined; readonly next: NodeContext }
  | { readonly kind: 'inForce'; readonly current: NodeContext; readonly next?: undefined }
  | { readonly kind: 'moving'; readonly current: NodeContext; readonly next: NodeContext };

/** The node context in force, and the one that comes next. */
export class OwnNodeState {
  readonly #nodeName: string;
  #ownNode: OwnNode | undefined;
  /** Undefined: not known yet. Nothing comes into force before it is known. */
  #communities: Communities | undefined;
  #state: NodeState = { kind: 'unknown' };

  /** @param declaredCommunities custom resources declare communities too, so they must be known first */
  constructor(nodeName: string, declaredCommunities: boolean) {
    this.#nodeName = nodeName;
    if (!declaredCommunities) this.#communities = new Map();
  }

  get kind(): NodeState['kind'] {
    return this.#state.kind;
  }

  /** The node context in force; undefined in `unknown` and `starting`. */
  get current(): NodeContext | undefined {
    return this.#state.current;
  }

  /** The node context that comes into force next; undefined in `unknown` and `inForce`. */
  get next(): NodeContext | undefined {
    return this.#state.next;
  }

  /** Own Node added or changed. Returns whether `next` changed. */
  setOwnNode(node: OwnNode): boolean {
    this.#ownNode = node;
    return this.#updateNext();
  }

  /** All communities that are declared now. Returns whether `next` changed. */
  setCommunities(communities: Communities): boolean {
    this.#communities = communities;
    return this.#updateNext();
  }

  /** Puts `next` in force: starting or moving → inForce. */
  adopt(): void {
    const { next } = this.#state;
    if (next !== undefined) this.#state = { kind: 'inForce', current: next };
  }

  #updateNext(): boolean {
    if (this.#ownNode === undefined || this.#communities === undefined) return false;
    const next: NodeContext = {
      node: this.#nodeName,
      labels: this.#ownNode.labels,
      off: filterOf(this.#ownNode.annotations) === 'off',
      declared: this.#communities,
    };
    const { current } = this.#state;
    if (sameNodeContext(this.#state.next ?? current, next)) return false;
    this.#state =
      current === undefined ? { kind: 'starting', next } : { kind: 'moving', current, next };
    return true;
  }
}
