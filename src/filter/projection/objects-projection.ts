import type { Topology } from '../../topology/state/topology.ts';
import type { ObjectBytes, ObjectMeta } from '../codec/codec.ts';
import type { Change, ChangeHandler } from '../codec/facts/change.ts';
import type { View } from '../view/view.ts';

/** Decides which objects of a collection clients see. */
export interface Visibility<Facts extends ObjectMeta> {
  /** Whether all that decides about hiding is known, so that the view can start. */
  isKnown(): boolean;
  /**
   * Whether an object must be hidden.
   *
   * @param hidden its bytes, if it is hidden already
   */
  isHidden(key: string, hidden?: ObjectBytes): boolean;
  /** Takes each change before it is applied. */
  note?(change: Change<Facts>): void;
  /** Called when the changes are applied, and the view is committed. */
  onApplied?(): void;
  /** The view is closed. */
  close?(): void;
}

export interface ObjectsProjectionOptions<Facts extends ObjectMeta> {
  readonly view: View;
  /** Default: nothing is hidden. */
  readonly visibility?: Visibility<Facts>;
  /** What the visibility depends on; default: it never changes. */
  readonly topology?: Topology;
  /** Receives each change first: the policies must be active before clients see the change. */
  readonly feed?: ChangeHandler<Facts>;
}

/**
 * Shows objects unchanged except for the resourceVersion: Services, the own Node, ServiceCIDRs. Hides some of them, and
 * passes on every change of the others.
 *
 *     listing ──onSynced()──▶ listed ──visibility known──▶ started
 *
 * Each object is in one of two places. Until the view starts, all are hidden:
 *
 *     shown (in the view) ──isHidden──▶ hidden ──no longer isHidden──▶ shown
 */
export class ObjectsProjection<Facts extends ObjectMeta = ObjectMeta>
  implements ChangeHandler<Facts>
{
  readonly view: View;
  readonly #visibility: Visibility<Facts>;
  readonly #feed: ChangeHandler<Facts> | undefined;
  readonly #unsubscribe: (() => void) | undefined;
  /** Objects that exist and are not in the view. */
  readonly #hidden = new Map<string, ObjectBytes>();
  #isListed = false;

  constructor({ view, visibility = ALL_SHOWN, topology, feed }: ObjectsProjectionOptions<Facts>) {
    this.view = view;
    this.#visibility = visibility;
    this.#feed = feed;
    this.#unsubscribe = topology?.subscribe({
      hiding: (keys) => this.#hide(keys),
      showing: (keys) => this.#show(keys),
    });
  }

  /** The object as the API server has it, except for the version, also when it is hidden or the view is not open yet. */
  find(key: string): ObjectBytes | undefined {
    return this.#hidden.get(key) ?? this.view.get(key);
  }

  /** Unsubscribes from the topology. */
  close(): void {
    this.#unsubscribe?.();
    this.#visibility.close?.();
  }

  onChanges(changes: readonly Change<Facts>[]): void {
    this.#applyAll(changes);
    this.#visibility.onApplied?.();
  }

  #applyAll(changes: readonly Change<Facts>[]): void {
    if (!this.view.started) {
      for (const change of changes) this.#apply(change);
      this.#feed?.onChanges(changes);
      return;
    }
    // Clients must see a Service go before its endpoints change or go.
    for (const key of deletedOnly(changes)) this.view.delete(key);
    this.view.log.commit();
    // The feed makes the topology show Services again. It must not show the old state of these.
    for (const { key } of changes) this.#hidden.delete(key);
    this.#feed?.onChanges(changes);
    for (const change of changes) this.#apply(change);
    this.view.log.commit();
  }

  onSynced(): void {
    this.#isListed = true;
    this.#feed?.onSynced();
    this.#tryStart();
  }

  #apply(change: Change<Facts>): void {
    const { key } = change;
    this.#visibility.note?.(change);
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

  #hide(keys: Iterable<string> = this.view.keys()): void {
    if (!this.view.started) return;
    for (const key of keys) {
      const object = this.view.get(key);
      if (object === undefined || !this.#visibility.isHidden(key)) continue;
      this.view.delete(key);
      this.#hidden.set(key, object);
    }
    this.view.log.commit();
  }

  #show(keys: Iterable<string> = this.#hidden.keys()): void {
    if (!this.view.started) {
      this.#tryStart();
      return;
    }
    for (const key of keys) {
      const object = this.#hidden.get(key);
      if (object === undefined || this.#visibility.isHidden(key, object)) continue;
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
