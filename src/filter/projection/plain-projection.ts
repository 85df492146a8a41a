import type { Change, ChangeSink } from '../codec/change.ts';
import type { ObjectBytes } from '../codec/codec.ts';
import type { View } from '../view/view.ts';

/**
 * Shows objects as they are, but for the resourceVersion: Services, the own Node, ServiceCIDRs. Every change
 * is passed on, and none is invented.
 */
export class PlainProjection implements ChangeSink {
  readonly view: View;
  /** What arrives before the first list is complete. */
  #initial: Map<string, ObjectBytes> | undefined = new Map();

  constructor(view: View) {
    this.view = view;
  }

  changed(changes: readonly Change[]): void {
    for (const change of changes) this.#apply(change);
    if (this.#initial === undefined) this.view.log.commit();
  }

  synced(): void {
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
      this.view.hide(key);
    } else {
      this.view.showAsIs(key, change.object);
    }
  }
}
