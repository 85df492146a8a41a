import type { Logger } from 'pino';
import type { Change, ChangeSink } from '../filter/change.ts';
import type { LabelledObject } from '../filter/codec.ts';
import type { World } from '../topology/world.ts';

/** Tells the world the labels and annotations of this node. */
export class OwnNodeFeed implements ChangeSink<LabelledObject> {
  readonly #world: World;
  readonly #logger: Logger;
  #exists = false;

  constructor(world: World, logger: Logger) {
    this.#world = world;
    this.#logger = logger;
  }

  /** Whether the Node object exists at the API server, as far as is known. */
  get exists(): boolean {
    return this.#exists;
  }

  changed(changes: readonly Change<LabelledObject>[]): void {
    for (const change of changes) {
      if (change.key !== this.#world.nodeName) continue;
      this.#exists = change.type !== 'DELETED';
      if (change.type === 'DELETED') {
        this.#logger.warn(
          { node: change.key },
          'own Node is gone; its last labels and annotations stay in force',
        );
      } else {
        this.#world.setOwnNode(change.facts);
      }
    }
  }

  synced(): void {
    if (this.#exists) return;
    this.#logger.error(
      { node: this.#world.nodeName },
      'there is no Node of this name; views wait until there is (check --node-name)',
    );
  }
}
