import type { Clock } from '../../util/clock.ts';
import { ZONE_KEY } from '../policy/topology-keys.ts';

/**
 * How long a node set that no policy needs is still watched, in milliseconds. So an annotation or a label that is
 * toggled causes no further list: with 5,000 nodes each toggle would cost 5,000 lists.
 */
export const NODE_SET_LINGER_MS = 60_000;

/** The watch of a node set at the API server. */
export interface NodeWatch {
  /** `version`: its resourceVersion; empty or undefined: none yet. */
  readonly status: { readonly connected: boolean; readonly version?: string };
  /** Ends it, and waits for it. */
  close(): Promise<void>;
}

/** What node sets need from outside, because the topology does no I/O. */
export interface NodeSetWatcher<Watch extends NodeWatch = NodeWatch> {
  readonly clock: Pick<Clock, 'after'>;
  /** Watches the nodes of a set, and calls the methods of the set with what it reads, after it has returned. */
  open(set: NodeSet<Watch>): Watch;
  /** A set is not watched, because it has no room. */
  onOverLimit(set: NodeSet<Watch>): void;
}

/** What a node set reports to. */
export interface NodeSetOwner {
  /** These nodes entered or left the set. */
  onMoved(set: NodeSet, nodes: readonly string[]): void;
  /** The set is complete, or the API server refuses it; `before`: its state until now. */
  onState(set: NodeSet, before: NodeSetState): void;
  /** No policy has needed the set for a while. */
  onUnused(set: NodeSet): void;
}

/**
 * - `syncing`: watched, and the members are not known yet
 * - `synced`: the members are known; a later refusal keeps them
 * - `refused`: the API server refuses the watch; only this node counts as a member
 * - `overLimit`: not watched, because policies need more sets than `maxNodeSets`; policies that need it do not apply
 */
export type NodeSetState = 'syncing' | 'synced' | 'refused' | 'overLimit';

/**
 * A node set: the nodes that a label selector matches. The selector is made from this node's own labels. Node sets
 * are all that the topology needs to know about other nodes.
 *
 * The API server turns a changed label into ADDED or DELETED, so that nodes that remain in the set cost only their
 * heartbeats, and those outside it nothing. From the constructor to {@link close}, it is watched and has a timer if no
 * policy needs it:
 *
 *     needed ── release() ──▶ lingers ── a minute later, watch open ──▶ closed
 *       ▲                      │ ▲ │
 *       └─────── need() ───────┘ └─┘ a minute later, watch not open
 */
export class NodeSet<Watch extends NodeWatch = NodeWatch> {
  readonly selector: string;
  /** Names of the nodes in the set. */
  readonly members = new Set<string>();
  readonly #watcher: NodeSetWatcher<Watch>;
  readonly #owner: NodeSetOwner;
  #state: NodeSetState;
  #refusal: string | undefined;
  #needed = true;
  #watch: Watch | undefined;
  #cancelClosing: (() => void) | undefined;

  /** @param noRoom why the set is over the limit; undefined: it is watched */
  constructor(
    selector: string,
    watcher: NodeSetWatcher<Watch>,
    owner: NodeSetOwner,
    noRoom: string | undefined,
  ) {
    this.selector = selector;
    this.#watcher = watcher;
    this.#owner = owner;
    this.#state = noRoom === undefined ? 'syncing' : 'overLimit';
    this.#refusal = noRoom;
    if (noRoom === undefined) this.#watch = watcher.open(this);
    else watcher.onOverLimit(this);
  }

  get state(): NodeSetState {
    return this.#state;
  }

  /** Why the members are not known, or not up to date; undefined: they are, or will be soon. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /** Whether a policy needs it. */
  get needed(): boolean {
    return this.#needed;
  }

  /** Undefined: it is over the limit, or closed. What a watch still reads after that has no effect. */
  get watch(): Watch | undefined {
    return this.#watch;
  }

  /** Nodes that entered and left the set. */
  change(added: Iterable<string>, removed: Iterable<string>): void {
    if (this.#watch === undefined) return;
    const moved: string[] = [];
    for (const node of added) {
      if (this.members.has(node)) continue;
      this.members.add(node);
      moved.push(node);
    }
    for (const node of removed) if (this.members.delete(node)) moved.push(node);
    if (moved.length > 0) this.#owner.onMoved(this, moved);
  }

  /** All nodes of the set are known. */
  sync(): void {
    if (this.#watch === undefined) return;
    const before = this.#state;
    this.#state = 'synced';
    this.#refusal = undefined;
    this.#owner.onState(this, before);
  }

  /** The API server has opened the watch. A set that was never known is synced by its list instead. */
  accept(): void {
    if (this.#state === 'synced' && this.#refusal !== undefined) this.sync();
  }

  /**
   * The API server refuses the watch. A synced set keeps its members: an API server that starts answers 403 until its
   * RBAC has loaded.
   */
  refuse(refusal: string): void {
    if (this.#watch === undefined) return;
    const before = this.#state;
    if (before === 'syncing') this.#state = 'refused';
    this.#refusal = refusal;
    this.#owner.onState(this, before);
  }

  /** A policy needs the set again. */
  need(): void {
    this.#needed = true;
    this.#cancelClosing?.();
  }

  /** No policy needs the set any longer. */
  release(): void {
    this.#needed = false;
    this.#closeLater();
  }

  /** Ends the watch, and waits for it. */
  async close(): Promise<void> {
    const watch = this.#watch;
    this.#watch = undefined;
    this.#cancelClosing?.();
    await watch?.close();
  }

  /**
   * A set whose watch is not open is kept: it could not be listed again now, and a Service that comes back would have
   * no endpoints until it is.
   */
  #closeLater(): void {
    this.#cancelClosing = this.#watcher.clock.after(NODE_SET_LINGER_MS, () => {
      if (this.#watch?.status.connected === true) this.#owner.onUnused(this);
      else this.#closeLater();
    });
  }
}

/** What the refusal of a node set means for decisions, in words. */
export function consequenceOfRefusal(set: Pick<NodeSet, 'state' | 'selector'>): string {
  if (set.state === 'overLimit') {
    return 'Services whose policies need it are unfiltered (raise maxNodeSets, or allow fewer keys with allowedTopologyKeys)';
  }
  if (set.state === 'synced') return 'the known nodes remain, and changes are not received';
  const ownNode = 'only this node itself counts as one of them';
  const isZone = set.selector.startsWith(`${ZONE_KEY}=`);
  return isZone ? `${ownNode}, and endpoints whose slices name the zone` : ownNode;
}
