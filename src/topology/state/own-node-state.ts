import { filterOf } from '../policy/service-policy.ts';
import { type NodeContext, sameNodeContext } from './topology-match.ts';

/** This node, as its Node object tells. */
export interface OwnNode {
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: ReadonlyMap<string, string>;
}

/** A community as a custom resource declares it: names of its nodes. */
export type Communities = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Where this node stands; the transitions are the methods of {@link OwnNodeState}.
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
 * In each state policies are in force or pending, see Policies: one comes into force when the node sets that its keys
 * need from `current` are known. Nothing ever waits for the nodes of the zone.
 */
type NodeState =
  | { readonly kind: 'unknown'; readonly current?: undefined; readonly next?: undefined }
  | { readonly kind: 'starting'; readonly current?: undefined; readonly next: NodeContext }
  | { readonly kind: 'inForce'; readonly current: NodeContext; readonly next?: undefined }
  | { readonly kind: 'moving'; readonly current: NodeContext; readonly next: NodeContext };

/** This node as far as it is in force, and as it is to be. */
export class OwnNodeState {
  readonly #nodeName: string;
  #ownNode: OwnNode | undefined;
  /** Undefined: not known yet, and nothing is in force before it is. */
  #communities: Communities | undefined;
  #state: NodeState = { kind: 'unknown' };

  /** @param declaredCommunities communities are declared by custom resources too, so that these have to be known */
  constructor(nodeName: string, declaredCommunities: boolean) {
    this.#nodeName = nodeName;
    if (!declaredCommunities) this.#communities = new Map();
  }

  get kind(): NodeState['kind'] {
    return this.#state.kind;
  }

  /** What is in force; undefined in `unknown` and `starting`. */
  get current(): NodeContext | undefined {
    return this.#state.current;
  }

  /** What is to come into force; undefined in `unknown` and `inForce`. */
  get next(): NodeContext | undefined {
    return this.#state.next;
  }

  /** Own Node seen or changed. Returns whether there is another `next` now. */
  setOwnNode(node: OwnNode): boolean {
    this.#ownNode = node;
    return this.#look();
  }

  /** All declared communities, as of now. Returns whether there is another `next` now. */
  setCommunities(communities: Communities): boolean {
    this.#communities = communities;
    return this.#look();
  }

  /** Starting or moving → in force. */
  adopt(): void {
    const { next } = this.#state;
    if (next !== undefined) this.#state = { kind: 'inForce', current: next };
  }

  #look(): boolean {
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
