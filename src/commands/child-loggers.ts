import type { Logger } from 'pino';

/**
 * The children of a logger. pino gives each child a level of its own, so a change of the level must reach them all.
 * Children are held weakly: each view has one, and views come and go.
 */
export class ChildLoggers {
  #children: WeakRef<Logger>[] = [];
  /** The next number of children at which those that were collected are dropped. */
  #pruneAt = 64;

  /** For pino's option onChild. */
  readonly add = (child: Logger): void => {
    this.#children.push(new WeakRef(child));
    if (this.#children.length < this.#pruneAt) return;
    this.#children = this.#children.filter((each) => each.deref() !== undefined);
    this.#pruneAt = 2 * this.#children.length + 64;
  };

  /** Sets the level of a logger and of all its children. */
  setLevel(logger: Logger, level: string): void {
    logger.level = level;
    for (const each of this.#children) {
      const child = each.deref();
      if (child !== undefined) child.level = level;
    }
  }
}
