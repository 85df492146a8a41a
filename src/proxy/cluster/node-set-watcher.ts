import type { WrapperError } from '../../errors.ts';
import type { PartialObjectMetadata } from '../../filter/codec/codec.ts';
import type { Change } from '../../filter/codec/facts/change.ts';
import { NODES } from '../../filter/codec/facts/resource.ts';
import { consequenceOfRefusal, type NodeSet } from '../../topology/state/node-set.ts';
import type { Topology } from '../../topology/state/topology.ts';
import type { Clock } from '../../util/clock.ts';
import { LimitedLog } from '../../util/limited-log.ts';
import { CODECS } from '../api/codecs.ts';
import type { ReflectorStatus } from '../reflector/reflector.ts';
import {
  type ReflectorContext,
  type RunningReflector,
  runReflector,
} from '../reflector/running-reflector.ts';

/**
 * How long a node set that no policy needs is still watched, in milliseconds. So an annotation or a label that is
 * toggled causes no further list: with 5,000 nodes each toggle would cost 5,000 lists.
 */
export const NODE_SET_LINGER_MS = 60_000;

export interface NodeSetWatcherOptions extends ReflectorContext {
  /** Clock for closing node sets that are not needed. */
  readonly time: Clock;
  readonly topology: Topology;
}

interface OpenSet {
  readonly reflector: RunningReflector;
  /** Cancels the timer that closes the set; undefined while the set is needed. */
  cancelClosing?: () => void;
}

/**
 * Watches the node sets of the topology, metadata only, with one reflector per label selector. Opens and closes them
 * as policies and labels of the own Node change. The API server turns a changed label into ADDED or DELETED, so that
 * nodes that remain in the set cost only their heartbeats, and those outside it nothing.
 *
 *     needed ── no policy needs it ──▶ lingers ── a minute later, watch open ──▶ dropped by the topology ──▶ closed
 *       ▲                               │ ▲ │
 *       └────── a policy needs it ──────┘ └─┘ a minute later, watch not open
 *
 * Invariant: it watches exactly the sets of the topology that are not over the limit. One timer runs for each set
 * that is not needed.
 */
export class NodeSetWatcher {
  readonly #options: NodeSetWatcherOptions;
  readonly #open = new Map<string, OpenSet>();
  /** Selectors of the sets over the limit that were logged. */
  readonly #reported = new Set<string>();
  /** A tenant can need a set again and again. */
  readonly #overLimitLog: LimitedLog;
  readonly #closing = new Set<Promise<void>>();
  readonly #unsubscribe: () => void;

  constructor(options: NodeSetWatcherOptions) {
    this.#options = options;
    this.#overLimitLog = new LimitedLog({ logger: options.logger });
    this.#unsubscribe = options.topology.subscribe({
      nodeSetsChanged: () => this.#onNodeSetsChange(),
    });
  }

  /** Status of each node set's reflector, by selector. */
  get statuses(): ReadonlyMap<string, ReflectorStatus> {
    return new Map(
      Array.from(this.#open, ([selector, { reflector }]) => [selector, reflector.status] as const),
    );
  }

  /** Ends all watches and waits for them. */
  async close(): Promise<void> {
    this.#unsubscribe();
    this.#overLimitLog.flush();
    for (const selector of this.#open.keys()) this.#closeSet(selector);
    await Promise.all(this.#closing);
  }

  #onNodeSetsChange(): void {
    const { nodeSets } = this.#options.topology;
    for (const selector of this.#open.keys()) {
      const { state = 'overLimit' } = nodeSets.get(selector) ?? {};
      if (state === 'overLimit') this.#closeSet(selector);
    }
    for (const set of nodeSets.values()) {
      if (set.state !== 'overLimit') this.#keepOpen(set);
    }
    this.#reportOverLimit();
  }

  #keepOpen({ selector, needed }: Readonly<NodeSet>): void {
    const open = this.#open.get(selector) ?? { reflector: this.#openSet(selector) };
    this.#open.set(selector, open);
    if (needed) {
      open.cancelClosing?.();
      open.cancelClosing = undefined;
    } else {
      open.cancelClosing ??= this.#closeLater(selector, open);
    }
  }

  /**
   * A set whose watch is not open is kept: it could not be listed again now, and a Service that comes back would have
   * no endpoints until it is.
   */
  #closeLater(selector: string, open: OpenSet): () => void {
    const { time, topology } = this.#options;
    return time.after(NODE_SET_LINGER_MS, () => {
      if (open.reflector.status.connected) topology.dropNodeSet(selector);
      else open.cancelClosing = this.#closeLater(selector, open);
    });
  }

  #closeSet(selector: string): void {
    const set = this.#open.get(selector);
    if (set === undefined) return;
    this.#open.delete(selector);
    set.cancelClosing?.();
    const closing = set.reflector.close();
    this.#closing.add(closing);
    void closing.then(() => this.#closing.delete(closing));
  }

  #reportOverLimit(): void {
    const { topology } = this.#options;
    for (const selector of this.#reported) {
      if (topology.nodeSets.get(selector)?.state !== 'overLimit') this.#reported.delete(selector);
    }
    for (const set of topology.nodeSets.values()) {
      const { selector, state, refusal: err } = set;
      if (state !== 'overLimit' || this.#reported.has(selector)) continue;
      this.#reported.add(selector);
      const text = `this node set is not watched: ${consequenceOfRefusal(set)}`;
      this.#overLimitLog.warn({ selector, err }, text);
    }
  }

  #openSet(selector: string): RunningReflector {
    const { topology, ownMemory } = this.#options;
    // A set that is closed and opened again has another reflector; this one must not change it.
    const isOpen = (): boolean => this.#open.get(selector)?.reflector === reflector;
    const reflector = runReflector<PartialObjectMetadata>({
      ...this.#options,
      query: {
        resource: NODES,
        namespace: '',
        labelSelector: selector,
        fieldSelector: '',
        encoding: 'protobuf',
      },
      metadataOnly: true,
      memory: ownMemory?.account(),
      decode: (object) => CODECS.protobuf.partialMetadata(object),
      handler: {
        onChanges: (changes) => {
          if (isOpen()) this.#changeMembers(selector, changes);
        },
        onSynced: () => {
          if (isOpen()) topology.setNodeSetState(selector);
        },
      },
      onRefused: (error) => this.#onRefused(selector, error),
    });
    return reflector;
  }

  #changeMembers(selector: string, changes: readonly Change<PartialObjectMetadata>[]): void {
    const members = new Map<string, boolean>();
    for (const { type, key } of changes) members.set(key, type !== 'DELETED');
    const nodes = [...members.keys()];
    this.#options.topology.changeNodeSet(
      selector,
      nodes.filter((node) => members.get(node)),
      nodes.filter((node) => !members.get(node)),
    );
  }

  #onRefused(selector: string, error: WrapperError | undefined): void {
    const { topology, logger } = this.#options;
    const set = topology.nodeSets.get(selector);
    if (error === undefined) {
      // A set that was never known is set to synced by its list.
      if (set?.state === 'synced' && set.refusal !== undefined) topology.setNodeSetState(selector);
      return;
    }
    const why =
      error.code === 'Refused' ? 'the API server does not let us watch' : 'nothing is known of';
    const text = `${why} these nodes: ${consequenceOfRefusal(set)}`;
    logger.error({ selector, err: error.message }, text);
    topology.setNodeSetState(selector, error.message);
  }
}
