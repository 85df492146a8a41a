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
 * The state of this node: the active node context, and the pending one.
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
export class OwnNodeState {
  readonly #nodeName: string;
  #ownNode: OwnNode | undefined;
  /** Undefined: not known yet. Nothing becomes active before it is known. */
  #communities: Communities | undefined;
  #active: NodeContext | undefined;
  #pending: NodeContext | undefined;

  /** @param declaredCommunities custom resources declare communities too, so they must be known first */
  constructor(nodeName: string, declaredCommunities: boolean) {
    this.#nodeName = nodeName;
    if (!declaredCommunities) this.#communities = new Map();
  }

  /** The active node context; undefined in `unknown` and `starting`. */
  get active(): NodeContext | undefined {
    return this.#active;
  }

  /** The pending node context; undefined in `unknown` and `active`. */
  get pending(): NodeContext | undefined {
    return this.#pending;
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

  /** Makes `pending` active; only if there is one: starting or changing → active. */
  activate(): void {
    this.#active = this.#pending;
    this.#pending = undefined;
  }

  #updatePending(): boolean {
    if (this.#ownNode === undefined || this.#communities === undefined) return false;
    const pending: NodeContext = {
      node: this.#nodeName,
      labels: this.#ownNode.labels,
      off: filterOf(this.#ownNode.annotations) === 'off',
      declared: this.#communities,
    };
    if (sameNodeContext(this.#pending ?? this.#active, pending)) return false;
    this.#pending = pending;
    return true;
  }
}
