import type { Logger } from 'pino';
import type { Change, ChangeHandler } from '../../filter/codec/change.ts';
import type { Codec, PartialObjectMetadata } from '../../filter/codec/codec.ts';
import { NODES } from '../../filter/codec/resource.ts';
import type { Clock } from '../../filter/projection/clock.ts';
import type { VersionAllocator } from '../../filter/view/version-allocator.ts';
import { consequenceOfRefusal, type NodeSet } from '../../topology/state/node-set.ts';
import type { Topology } from '../../topology/state/topology.ts';
import type { ReadLimits } from '../api/read-limits.ts';
import { Reflector, type ReflectorStatus } from '../reflector/reflector.ts';
import type { SnapshotStore } from '../snapshot/snapshot-store.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { OwnReadMemory } from '../util/read-memory.ts';

/**
 * A node set that no policy needs any more is watched on for this long, in milliseconds. Whoever toggles an
 * annotation or a label then causes no further list: on 5,000 nodes each one would be a list per node.
 */
export const NODE_SET_LINGER_MS = 60_000;

export interface NodeSetWatcherOptions {
  readonly upstream: Upstream;
  /** Codec for the encoding in which nodes are asked for. */
  readonly codec: Codec;
  readonly clock: VersionAllocator;
  /** When node sets that linger are closed. */
  readonly time: Clock;
  readonly topology: Topology;
  readonly logger: Logger;
  readonly bounds?: ReadLimits;
  readonly snapshots?: SnapshotStore;
  readonly ownMemory?: OwnReadMemory;
}

interface OpenSet {
  readonly reflector: Reflector<PartialObjectMetadata>;
  readonly controller: AbortController;
  readonly running: Promise<void>;
  /** Keeps a set that lingers from being closed; undefined while it is needed. */
  keep: (() => void) | undefined;
}

/**
 * Watches the node sets of the world, metadata only, one reflector for each label selector; opens and closes
 * them as policies and own labels come and go. The API server turns a label that changes into an ADDED or a
 * DELETED, so that nothing is heard of nodes that stay in or out of the set but their heartbeats.
 *
 * Invariant: it watches exactly the sets that the world has and that are not over the limit; for each one that
 * is not needed one timer runs.
 */
export class NodeSetWatcher {
  readonly #context: NodeSetWatcherOptions;
  readonly #open = new Map<string, OpenSet>();
  /** Sets over the limit that were reported. */
  readonly #reported = new Set<string>();
  readonly #closing = new Set<Promise<void>>();
  readonly #unsubscribe: () => void;

  constructor(context: NodeSetWatcherOptions) {
    this.#context = context;
    this.#unsubscribe = context.topology.subscribe({ wanted: () => this.#follow() });
  }

  /** How each node set stands with the API server, by selector. */
  get statuses(): ReadonlyMap<string, ReflectorStatus> {
    return new Map(
      Array.from(this.#open, ([selector, { reflector }]) => [selector, reflector.status] as const),
    );
  }

  /** Ends all watches and waits for them. */
  async close(): Promise<void> {
    this.#unsubscribe();
    for (const selector of this.#open.keys()) this.#closeSet(selector);
    await Promise.all(this.#closing);
  }

  #follow(): void {
    const { nodeSets } = this.#context.topology;
    for (const selector of this.#open.keys()) {
      if (!nodeSets.has(selector)) this.#closeSet(selector);
    }
    for (const set of nodeSets.values()) {
      if (set.state !== 'overLimit') this.#keepOpen(set);
    }
    this.#reportOverLimit();
  }

  #keepOpen({ selector, needed }: Readonly<NodeSet>): void {
    const open = this.#open.get(selector) ?? this.#openSet(selector);
    this.#open.set(selector, open);
    if (needed) {
      open.keep?.();
      open.keep = undefined;
    } else {
      const { time, topology } = this.#context;
      open.keep ??= time.after(NODE_SET_LINGER_MS, () => topology.dropNodeSet(selector));
    }
  }

  #closeSet(selector: string): void {
    const set = this.#open.get(selector);
    if (set === undefined) return;
    this.#open.delete(selector);
    set.keep?.();
    set.controller.abort();
    this.#closing.add(set.running);
    void set.running.then(() => this.#closing.delete(set.running));
  }

  #reportOverLimit(): void {
    const { topology, logger } = this.#context;
    for (const selector of this.#reported) {
      if (topology.nodeSets.get(selector)?.state !== 'overLimit') this.#reported.delete(selector);
    }
    for (const { selector, state, refusal } of topology.nodeSets.values()) {
      if (state !== 'overLimit' || this.#reported.has(selector)) continue;
      this.#reported.add(selector);
      logger.warn(
        { selector, err: refusal },
        'this node set is not watched; only this node itself counts as one of its nodes (raise maxNodeSets, or allow fewer keys with allowedTopologyKeys)',
      );
    }
  }

  #openSet(selector: string): OpenSet {
    const { topology, codec, logger } = this.#context;
    const controller = new AbortController();
    const reflector = new Reflector<PartialObjectMetadata>({
      ...this.#context,
      query: {
        resource: NODES,
        namespace: '',
        labelSelector: selector,
        fieldSelector: '',
        encoding: codec.encoding,
      },
      metadataOnly: true,
      memory: this.#context.ownMemory?.account(),
      decode: (object) => codec.partialMetadata(object),
      handlers: [new NodeSetFeed(topology, selector, () => controller.signal.aborted)],
      onRefused: (error) => {
        const set = topology.nodeSets.get(selector);
        if (error === undefined) {
          // Of a set that was never known this comes with its list.
          if (set?.state === 'synced' && set.refusal !== undefined)
            topology.setNodeSetState(selector);
          return;
        }
        const why =
          error.code === 'Refused' ? 'the API server does not let us watch' : 'nothing is known of';
        const what = `${why} these nodes: ${consequenceOfRefusal(set)}`;
        logger.error({ selector, err: error.message }, what);
        topology.setNodeSetState(selector, error.message);
      },
    });
    return { reflector, controller, running: reflector.run(controller.signal), keep: undefined };
  }
}

class NodeSetFeed implements ChangeHandler<PartialObjectMetadata> {
  readonly #topology: Topology;
  readonly #selector: string;
  readonly #closed: () => boolean;

  constructor(topology: Topology, selector: string, closed: () => boolean) {
    this.#topology = topology;
    this.#selector = selector;
    this.#closed = closed;
  }

  onChanges(changes: readonly Change<PartialObjectMetadata>[]): void {
    // A set closed and wanted again has another feed: what is left in this one is not for it.
    if (this.#closed()) return;
    const members = new Map<string, boolean>();
    for (const { type, key } of changes) members.set(key, type !== 'DELETED');
    const nodes = [...members.keys()];
    this.#topology.changeNodeSet(
      this.#selector,
      nodes.filter((node) => members.get(node)),
      nodes.filter((node) => !members.get(node)),
    );
  }

  onSynced(): void {
    if (!this.#closed()) this.#topology.setNodeSetState(this.#selector);
  }
}
