import type { Change, ChangeHandler } from '../codec/change.ts';
import type { ObjectBytes } from '../codec/codec.ts';
import type { View } from '../view/view.ts';

/**
 * Shows objects as they are, but for the resourceVersion: Services, the own Node, ServiceCIDRs. Every change
 * is passed on, and none is invented.
 */
export class PlainProjection implements ChangeHandler {
  readonly view: View;
  /** What arrives before the first list is complete. */
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
    this.view.startAsIs(initial);
  }

  #apply(change: Change): void {
    const { key } = change;
    if (this.#initial !== undefined) {
      if (change.type === 'DELETED') this.#initial.delete(key);
      else this.#initial.set(key, change.object);
    } else if (change.type === 'DELETED') {
      this.view.delete(key);
    } else {
      this.view.showAsIs(key, change.object);
    }
  }
}
