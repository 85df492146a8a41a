import { ownedCopy } from '../codec/bytes/owned-copy.ts';
import type { ObjectBytes, ObjectMeta } from '../codec/codec.ts';
import type { Change } from '../objects/change.ts';
import type { View } from '../view/view.ts';

/** Decides which objects of a collection clients see. */
export interface Visibility<Facts extends ObjectMeta> {
  /** Whether all that decides about hiding is known, so that the view can start. */
  isKnown(): boolean;
  isHidden(key: string): boolean;
  /** Takes each change before it is applied. */
  report?(change: Change<Facts>): void;
  /** What the topology must learn from the changes since the last call, see Topology.setUnreadServices. */
  takeUnread?(): ReadonlyMap<string, boolean | undefined>;
}

/**
 * Shows objects unchanged except for the resourceVersion: Services, the own Node, ServiceCIDRs. Hides some of them, and
 * passes on every change of the others.
 *
 *     listing ──listed()──▶ listed ──visibility known──▶ started
 *
 * Each object is in one of two places. Until the view starts, all are hidden:
 *
 *     shown (in the view) ──isHidden──▶ hidden ──no longer isHidden──▶ shown
 */
export class ObjectsProjection<Facts extends ObjectMeta = ObjectMeta> {
  readonly view: View;
  readonly #visibility: Visibility<Facts>;
  /** Objects that exist and are not in the view. */
  readonly #hidden = new Map<string, ObjectBytes>();
  #isListed = false;

  /** @param visibility default: nothing is hidden */
  constructor(view: View, visibility: Visibility<Facts> = ALL_SHOWN) {
    this.view = view;
    this.#visibility = visibility;
  }

  /** Whether it hides anything, which depends on the topology. */
  get hides(): boolean {
    return this.#visibility !== ALL_SHOWN;
  }

  /**
   * The object as the API server has it, except for the version, also when it is hidden or the view is not open yet.
   */
  find(key: string): ObjectBytes | undefined {
    return this.#hidden.get(key) ?? this.view.get(key);
  }

  /**
   * Removes what changes delete or may alter while it is hidden. Clients must see a Service go before its endpoints
   * change or go, and no longer see the old state of a hidden one. {@link apply} must follow.
   */
  hideBefore(changes: readonly Change<Facts>[]): void {
    if (this.view.started) {
      for (const key of deletedOnly(changes)) this.view.delete(key);
      this.view.log.commit();
    }
    for (const { key } of changes) this.#hidden.delete(key);
  }

  apply(changes: readonly Change<Facts>[]): void {
    for (const change of changes) this.#apply(change);
    if (this.view.started) this.view.log.commit();
  }

  /** See {@link Visibility.takeUnread}. */
  takeUnread(): ReadonlyMap<string, boolean | undefined> {
    return this.#visibility.takeUnread?.() ?? NO_UNREAD;
  }

  /** All objects that exist at the API server have been passed to {@link apply}. */
  listed(): void {
    this.#isListed = true;
    this.#tryStart();
  }

  #apply(change: Change<Facts>): void {
    const { key } = change;
    this.#visibility.report?.(change);
    this.#hidden.delete(key);
    if (change.type === 'DELETED') {
      this.view.delete(key);
    } else if (!this.view.started || this.#visibility.isHidden(key)) {
      this.view.delete(key);
      this.#hidden.set(key, change.object);
    } else {
      this.view.set(key, change.object);
    }
  }

  /** Hides objects that must be hidden, among these; default: among all. */
  hide(keys: Iterable<string> = this.view.keys()): void {
    if (!this.view.started) return;
    for (const key of keys) {
      const object = this.view.get(key);
      if (object === undefined || !this.#visibility.isHidden(key)) continue;
      this.view.delete(key);
      this.#hidden.set(key, ownedCopy(object));
    }
    this.view.log.commit();
  }

  /** Shows objects that must not be hidden, among these; default: among all. */
  show(keys: Iterable<string> = this.#hidden.keys()): void {
    if (!this.view.started) {
      this.#tryStart();
      return;
    }
    for (const key of keys) {
      const object = this.#hidden.get(key);
      if (object === undefined || this.#visibility.isHidden(key)) continue;
      this.#hidden.delete(key);
      this.view.set(key, object);
    }
    this.view.log.commit();
  }

  #tryStart(): void {
    if (this.view.started || !this.#isListed || !this.#visibility.isKnown()) return;
    const shown = [...this.#hidden].filter(([key]) => !this.#visibility.isHidden(key));
    for (const [key] of shown) this.#hidden.delete(key);
    this.view.start(shown);
  }
}

const NO_UNREAD: ReadonlyMap<string, never> = new Map<string, never>();
const ALL_SHOWN: Visibility<ObjectMeta> = { isKnown: () => true, isHidden: () => false };

/** Keys of the objects that these changes delete and do nothing else to. */
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
