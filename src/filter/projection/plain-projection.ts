import type { Change, ChangeHandler } from '../codec/change.ts';
import type { ObjectBytes } from '../codec/codec.ts';
import type { View } from '../view/view.ts';

/**
 * Shows objects unchanged except for the resourceVersion: Services, the own Node, ServiceCIDRs. Passes on every change,
 * and makes none itself.
 */
export class PlainProjection implements ChangeHandler {
  readonly view: View;
  /** Objects that arrive before the first list is complete; undefined: the view is open. */
  #initial: Map<string, ObjectBytes> | undefined = new Map();

  constructor(view: View) {
    this.view = view;
  }

  onChanges(changes: readonly Change[]): void {
    for (const change of changes) this.#apply(change);
    if (this.#initial === undefined) this.view.log.commit();
  }

  onSynced(): void {
    const initial = this.#initial;
    if (initial === undefined) return;
    this.#initial = undefined;
    this.view.startUnchanged(initial);
  }

  #apply(change: Change): void {
    const { key } = change;
    if (this.#initial !== undefined) {
      if (change.type === 'DELETED') this.#initial.delete(key);
      else this.#initial.set(key, change.object);
    } else if (change.type === 'DELETED') {
      this.view.delete(key);
    } else {
      this.view.setUnchanged(key, change.object);
    }
  }
}
