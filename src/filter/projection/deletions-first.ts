import type { Change, ChangeHandler } from '../codec/change.ts';
import type { ObjectMeta } from '../codec/codec.ts';
import type { View } from '../view/view.ts';

/**
 * Deletes objects from a view before other handlers receive the same changes. Clients must see a Service go before its
 * endpoints change or go. Put it before the other handlers.
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
    for (const key of deletedOnly(changes)) this.#view.delete(key);
    if (log.end !== before) log.commit();
  }

  onSynced(): void {}
}

/** Keys of the objects that these changes delete and do nothing else to. The others are left to the other handlers. */
function deletedOnly(changes: readonly Pick<Change, 'key' | 'type'>[]): Set<string> {
  const deleted = new Set<string>();
  const seen = new Set<string>();
  for (const { key, type } of changes) {
    if (type === 'DELETED' && !seen.has(key)) deleted.add(key);
    else deleted.delete(key);
    seen.add(key);
  }
  return deleted;
}
