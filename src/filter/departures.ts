import type { Change, ChangeSink } from './change.ts';
import type { ObjectMeta } from './codec.ts';
import type { View } from './view.ts';

/**
 * Takes from a view what leaves it before other sinks hear of the same changes: of a Service that goes clients
 * shall hear before its endpoints become others, or none. To be told first.
 */
export class Departures<Facts extends ObjectMeta> implements ChangeSink<Facts> {
  readonly #view: View;
  readonly #leaves: (facts: Facts) => boolean;

  /** @param leaves whether an object that is still there is to be hidden from now on */
  constructor(view: View, leaves: (facts: Facts) => boolean = () => false) {
    this.#view = view;
    this.#leaves = leaves;
  }

  changed(changes: readonly Change<Facts>[]): void {
    if (!this.#view.started) return;
    const { log } = this.#view;
    const before = log.end;
    for (const key of this.#departing(changes)) this.#view.hide(key);
    if (log.end !== before) log.commit();
  }

  /** Those that nothing else happens to: what comes again at once, or came just now, is left to the others. */
  #departing(changes: readonly Change<Facts>[]): Set<string> {
    const departing = new Set<string>();
    const seen = new Set<string>();
    for (const change of changes) {
      const { key } = change;
      const leaves = change.type === 'DELETED' || this.#leaves(change.facts);
      if (leaves && !seen.has(key)) departing.add(key);
      else departing.delete(key);
      seen.add(key);
    }
    return departing;
  }

  synced(): void {}
}
