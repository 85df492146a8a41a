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
 *   unknown ───────────────────────────▶ starting ─────────────────────────▶ active
 *                                         │   ▲                               │   ▲
 *                                         └───┘ own labels,                   │   │ node sets of
 *                                               communities change            ▼   │ `next` known
 *                                                                 ┌──────▶ changing
 *                                                                 └───────────┘ change again
 * ```
 *
 * Policies have states of their own, see PolicyStates. A policy becomes active when the node sets that its keys
 * require in `current` are known.
 */
type NodeState =
  | { readonly kind: 'unknown'; readonly current?: undefined; readonly next?: undefined }
  | { readonly kind: 'starting'; readonly current?: undefined; readonly next: NodeContext }
  | { readonly kind: 'active'; readonly current: NodeContext; readonly next?: undefined }
  | { readonly kind: 'changing'; readonly current: NodeContext; readonly next: NodeContext };

/** The active node context, and the next one. */
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
  get current(): NodeContext | undefined {
    return this.#state.current;
  }

  /** The next node context; undefined in `unknown` and `active`. */
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

  /** Makes `next` active: starting or changing → active. */
  adopt(): void {
    const { next } = this.#state;
    if (next !== undefined) this.#state = { kind: 'active', current: next };
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
      current === undefined ? { kind: 'starting', next } : { kind: 'changing', current, next };
    return true;
  }
}
