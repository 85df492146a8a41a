import type { Logger } from 'pino';
import type { Change, ChangeSink } from '../filter/change.ts';
import type { Codec, LabelledObject } from '../filter/codec.ts';
import { NODES } from '../filter/resource.ts';
import type { VersionClock } from '../filter/version-clock.ts';
import { consequenceOfRefusal } from '../topology/node-set.ts';
import type { World } from '../topology/world.ts';
import type { ReadBounds } from './read-bounds.ts';
import type { OwnReadMemory } from './read-memory.ts';
import { Reflector, type ReflectorStatus } from './reflector.ts';
import type { SnapshotStore } from './snapshot-store.ts';
import type { Upstream } from './upstream.ts';

interface OpenSet {
  readonly reflector: Reflector<LabelledObject>;
  readonly controller: AbortController;
  readonly running: Promise<void>;
}

/**
 * Watches the node sets that the world wants, metadata only, one reflector for each label selector; opens
 * and closes them as policies and own labels come and go. The API server turns a label that changes into an
 * ADDED or a DELETED, so that nothing is heard of nodes that stay in or out of the set but their heartbeats.
 */
export class NodeSetWatcher {
  readonly #context: {
    readonly upstream: Upstream;
    readonly codec: Codec;
    readonly clock: VersionClock;
    readonly world: World;
    readonly logger: Logger;
    readonly bounds?: ReadBounds;
    readonly snapshots?: SnapshotStore;
    readonly ownMemory?: OwnReadMemory;
  };
  readonly #open = new Map<string, OpenSet>();
  readonly #closing = new Set<Promise<void>>();
  readonly #unsubscribe: () => void;

  constructor(context: {
    readonly upstream: Upstream;
    /** Codec for the encoding in which nodes are asked for. */
    readonly codec: Codec;
    readonly clock: VersionClock;
    readonly world: World;
    readonly logger: Logger;
    readonly bounds?: ReadBounds;
    readonly snapshots?: SnapshotStore;
    readonly ownMemory?: OwnReadMemory;
  }) {
    this.#context = context;
    this.#unsubscribe = context.world.subscribe({ wanted: (selectors) => this.#follow(selectors) });
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
    this.#follow(new Set());
    await Promise.all(this.#closing);
  }

  #follow(selectors: ReadonlySet<string>): void {
    for (const [selector, set] of this.#open) {
      if (selectors.has(selector)) continue;
      this.#open.delete(selector);
      set.controller.abort();
      this.#closing.add(set.running);
      void set.running.then(() => this.#closing.delete(set.running));
    }
    for (const selector of selectors) {
      if (!this.#open.has(selector)) this.#open.set(selector, this.#openSet(selector));
    }
  }

  #openSet(selector: string): OpenSet {
    const { world, codec, logger } = this.#context;
    const controller = new AbortController();
    const reflector = new Reflector<LabelledObject>({
      ...this.#context,
      question: {
        resource: NODES,
        namespace: '',
        labelSelector: selector,
        fieldSelector: '',
        encoding: codec.encoding,
      },
      metadataOnly: true,
      memory: this.#context.ownMemory?.account(),
      decode: (object) => codec.labelled(object),
      sinks: [new NodeSetFeed(world, selector, () => controller.signal.aborted)],
      onRefused: (error) => {
        const set = world.nodeSets.get(selector);
        if (error === undefined) {
          // Of a set that was never known this comes with its list.
          if (set?.state === 'synced' && set.refusal !== undefined) world.setNodeSetState(selector);
          return;
        }
        const why =
          error.code === 'Refused' ? 'the API server does not let us watch' : 'nothing is known of';
        const what = `${why} these nodes: ${consequenceOfRefusal(set)}`;
        logger.error({ selector, err: error.message }, what);
        world.setNodeSetState(selector, error.message);
      },
    });
    return { reflector, controller, running: reflector.run(controller.signal) };
  }
}

class NodeSetFeed implements ChangeSink<LabelledObject> {
  readonly #world: World;
  readonly #selector: string;
  readonly #closed: () => boolean;

  constructor(world: World, selector: string, closed: () => boolean) {
    this.#world = world;
    this.#selector = selector;
    this.#closed = closed;
  }

  changed(changes: readonly Change<LabelledObject>[]): void {
    // A set closed and wanted again has another feed: what is left in this one is not for it.
    if (this.#closed()) return;
    const members = new Map<string, boolean>();
    for (const { type, key } of changes) members.set(key, type !== 'DELETED');
    const nodes = [...members.keys()];
    this.#world.changeNodeSet(
      this.#selector,
      nodes.filter((node) => members.get(node)),
      nodes.filter((node) => !members.get(node)),
    );
  }

  synced(): void {
    if (!this.#closed()) this.#world.setNodeSetState(this.#selector);
  }
}
