import type { Logger } from 'pino';
import type { PartialObjectMetadata } from '../../filter/codec/codec.ts';
import type { Change, ChangeHandler } from '../../filter/objects/change.ts';
import { FILTER_ANNOTATION, filterOf } from '../../topology/policy/service-policy.ts';
import type { Topology } from '../../topology/state/topology.ts';
import type { LastOwnNode } from './last-own-node.ts';

/** Sets the labels and annotations of this node in the topology. */
export class OwnNodeHandler implements ChangeHandler<PartialObjectMetadata> {
  readonly #topology: Topology;
  readonly #logger: Logger;
  readonly #last: Pick<LastOwnNode, 'update'>;
  #exists = false;
  /** It has been logged. */
  #wrongFilter: string | undefined;

  constructor(topology: Topology, last: Pick<LastOwnNode, 'update'>, logger: Logger) {
    this.#topology = topology;
    this.#last = last;
    this.#logger = logger;
  }

  /** Whether the Node object existed at the API server when it last reported. */
  get exists(): boolean {
    return this.#exists;
  }

  /** A value of the annotation that means nothing; undefined: it has none. */
  get wrongFilter(): string | undefined {
    return this.#wrongFilter;
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
        this.#last.update(change.facts);
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
