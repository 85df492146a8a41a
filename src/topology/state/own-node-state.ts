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
 *            Node and communities known        node sets of `pending` known
 *   unknown ───────────────────────────▶ starting ─────────────────────────▶ active
 *                                         │   ▲                               │   ▲
 *                                         └───┘ own labels,                   │   │ node sets of
 *                                               communities change            ▼   │ `pending` known
 *                                                                 ┌──────▶ changing
 *                                                                 └───────────┘ change again
 * ```
 *
 * Policies have states of their own, see PolicyStates. A policy becomes active when the node sets that its keys
 * require in `active` are known.
 */
type NodeState =
  | { readonly kind: 'unknown'; readonly active?: undefined; readonly pending?: undefined }
  | { readonly kind: 'starting'; readonly active?: undefined; readonly pending: NodeContext }
  | { readonly kind: 'active'; readonly active: NodeContext; readonly pending?: undefined }
  | { readonly kind: 'changing'; readonly active: NodeContext; readonly pending: NodeContext };

/** The active node context, and the pending one. */
export class OwnNodeState {
  readonly #nodeName: string;
  #ownNode: OwnNode | undefined;
  /** Undefined: not known yet. Nothing becomes active before it is known. */
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

  /** The active node context; undefined in `unknown` and `starting`. */
  get active(): NodeContext | undefined {
    return this.#state.active;
  }

  /** The pending node context; undefined in `unknown` and `active`. */
  get pending(): NodeContext | undefined {
    return this.#state.pending;
  }

  /** Own Node added or changed. Returns whether `pending` changed. */
  setOwnNode(node: OwnNode): boolean {
    this.#ownNode = node;
    return this.#updatePending();
  }

  /** All communities that are declared now. Returns whether `pending` changed. */
  setCommunities(communities: Communities): boolean {
    this.#communities = communities;
    return this.#updatePending();
  }

  /** Makes `pending` active: starting or changing → active. */
  activate(): void {
    const { pending } = this.#state;
    if (pending !== undefined) this.#state = { kind: 'active', active: pending };
  }

  #updatePending(): boolean {
    if (this.#ownNode === undefined || this.#communities === undefined) return false;
    const pending: NodeContext = {
      node: this.#nodeName,
      labels: this.#ownNode.labels,
      off: filterOf(this.#ownNode.annotations) === 'off',
      declared: this.#communities,
    };
    const { active } = this.#state;
    if (sameNodeContext(this.#state.pending ?? active, pending)) return false;
    this.#state =
      active === undefined ? { kind: 'starting', pending } : { kind: 'changing', active, pending };
    return true;
  }
}
