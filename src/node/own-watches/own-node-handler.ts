import type { Logger } from 'pino';
import type { PartialObjectMetadata } from '../../filter/codec/codec.ts';
import type { Change, ChangeHandler } from '../../filter/objects/change.ts';
import { FILTER_ANNOTATION, filterOf } from '../../topology/policy/service-policy.ts';
import type { Topology } from '../../topology/state/topology.ts';

/** Sets the labels and annotations of this node in the topology. */
export class OwnNodeHandler implements ChangeHandler<PartialObjectMetadata> {
  readonly #topology: Topology;
  readonly #logger: Logger;
  #exists = false;
  #current: PartialObjectMetadata | undefined;
  #lastLabels: ReadonlyMap<string, string> | undefined;
  /** The last invalid value of the annotation that was logged. */
  #wrongFilter: string | undefined;

  constructor(topology: Topology, logger: Logger) {
    this.#topology = topology;
    this.#logger = logger;
  }

  /** Whether the Node object existed at the API server when it last reported. */
  get exists(): boolean {
    return this.#exists;
  }

  /**
   * Labels of the Node of this name that was deleted before the one that exists, since this process started, or before
   * if there is a snapshot of it; undefined: none is known.
   */
  get lastLabels(): ReadonlyMap<string, string> | undefined {
    return this.#lastLabels;
  }

  /** The Node that a snapshot has. If another one exists at the API server, it was deleted meanwhile. */
  onStored(node: PartialObjectMetadata): void {
    if (node.name === this.#topology.nodeName) this.#current ??= node;
  }

  onChanges(changes: readonly Change<PartialObjectMetadata>[]): void {
    for (const change of changes) {
      if (change.key !== this.#topology.nodeName) continue;
      this.#exists = change.type !== 'DELETED';
      if (change.type === 'DELETED') {
        this.#logger.warn(
          'the own Node was deleted; its last labels and annotations remain active',
        );
      } else {
        if (this.#current !== undefined && this.#current.uid !== change.facts.uid) {
          this.#lastLabels = this.#current.labels;
        }
        this.#current = change.facts;
        this.#topology.setOwnNode(change.facts);
        this.#reportFilter(filterOf(change.facts.annotations));
      }
    }
  }

  #reportFilter(filter: string | undefined): void {
    const isKnown = [undefined, 'on', 'off'].includes(filter);
    if (!isKnown && filter !== this.#wrongFilter) {
      this.#logger.warn(
        { value: filter },
        `the annotation ${FILTER_ANNOTATION} of a Node must be off or on: this value changes nothing`,
      );
    }
    this.#wrongFilter = isKnown ? undefined : filter;
  }

  onSynced(): void {
    if (this.#exists) return;
    this.#logger.error(
      'there is no Node of this name; views wait until there is (check --node-name)',
    );
  }
}
