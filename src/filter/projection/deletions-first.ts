import type { Change, ChangeHandler } from '../codec/change.ts';
import type { ObjectMeta } from '../codec/codec.ts';
import type { View } from '../view/view.ts';

/**
 * Takes from a view what leaves it before other sinks hear of the same changes: of a Service that goes clients
 * shall hear before its endpoints become others, or none. To be told first.
 */
export class DeletionsFirst<Facts extends ObjectMeta> implements ChangeHandler<Facts> {
  readonly #view: View;

  constructor(view: View) {
    this.#view = view;
  }

  onChanges(changes: readonly Change<Facts>[]): void {
    if (!this.#view.started) return;
    const { log } = this.#view;
    const before = log.end;
    for (const key of this.#departing(changes)) this.#view.delete(key);
    if (log.end !== before) log.commit();
  }

  /** Those that nothing else happens to: what comes again at once, or came just now, is left to the others. */
  #departing(changes: readonly Change<Facts>[]): Set<string> {
    const departing = new Set<string>();
    const seen = new Set<string>();
    for (const { key, type } of changes) {
      if (type === 'DELETED' && !seen.has(key)) departing.add(key);
      else departing.delete(key);
      seen.add(key);
    }
    return departing;
  }

  onSynced(): void {}
}
