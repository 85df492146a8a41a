import { isOfOtherProxy, type ServiceFilter } from '../topology/service-policy.ts';
import type { World } from '../topology/world.ts';
import type { Change, ChangeSink } from './change.ts';
import type { ObjectBytes, ServiceFacts } from './codec.ts';
import type { View } from './view.ts';

export interface ServicesProjectionOptions {
  readonly view: View;
  readonly world: World;
  readonly serviceFilter: ServiceFilter | undefined;
  /** Wait for the view of slices that tells which Services are withheld. */
  readonly followsWithheld: boolean;
}

/**
 * Shows Services as they are, but for the resourceVersion, and hides those that another proxy serves or
 * whose traffic all goes to the cloud. Every change of a Service that is shown is passed on.
 *
 * Invariant: each Service that exists is either in the view or set aside, and set aside are exactly those
 * that are hidden now.
 */
export class ServicesProjection implements ChangeSink<ServiceFacts> {
  readonly view: View;
  readonly #options: ServicesProjectionOptions;
  readonly #aside = new Map<string, ObjectBytes>();
  /** Services that the filter hides, on a node that is not switched off. */
  readonly #filtered = new Set<string>();
  readonly #unsubscribe: readonly (() => void)[];
  /** What arrives before the view starts, hidden or not. */
  #initial: Map<string, ObjectBytes> | undefined = new Map();
  #synced = false;
  #off = false;

  constructor(options: ServicesProjectionOptions) {
    this.view = options.view;
    this.#options = options;
    const { world } = options;
    this.#unsubscribe = [
      world.subscribe({ changed: () => this.#worldChanged() }),
      world.withheld.subscribe((services) => this.#lookAgain(services)),
    ];
  }

  /** The object as the API server has it, but for the version, also when it is hidden. */
  find(key: string): ObjectBytes | undefined {
    return this.view.get(key) ?? this.#aside.get(key);
  }

  /** Stops listening to the world. */
  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  changed(changes: readonly Change<ServiceFacts>[]): void {
    for (const change of changes) {
      const { key } = change;
      if (change.type === 'DELETED') {
        this.#filtered.delete(key);
        this.#take(key, undefined);
      } else {
        if (isOfOtherProxy(change.facts, this.#options.serviceFilter)) this.#filtered.add(key);
        else this.#filtered.delete(key);
        this.#take(key, change.object);
      }
    }
    if (this.view.started) this.view.log.commit();
  }

  synced(): void {
    this.#synced = true;
    this.#tryStart();
  }

  /** Notes an object as it is now; undefined: it is gone. */
  #take(key: string, object: ObjectBytes | undefined): void {
    if (this.#initial !== undefined) {
      if (object === undefined) this.#initial.delete(key);
      else this.#initial.set(key, object);
      return;
    }
    this.#aside.delete(key);
    if (object === undefined) {
      this.view.hide(key);
    } else if (this.#isHidden(key)) {
      this.view.hide(key);
      this.#aside.set(key, object);
    } else {
      this.view.show(key, (version) => this.#withVersion(object, version));
    }
  }

  #worldChanged(): void {
    const off = this.#options.world.standpoint?.off ?? false;
    if (this.#initial !== undefined) {
      this.#tryStart();
    } else if (off !== this.#off) {
      this.#off = off;
      // Those that were withheld follow by what the view of slices tells.
      this.#lookAgain([...this.#aside.keys(), ...this.#filtered]);
    }
  }

  #lookAgain(services: Iterable<string>): void {
    if (this.#initial !== undefined) {
      this.#tryStart();
      return;
    }
    for (const key of services) {
      const aside = this.#aside.get(key);
      const shown = this.view.get(key);
      if (aside !== undefined && !this.#isHidden(key)) {
        this.#aside.delete(key);
        this.view.show(key, (version) => this.#withVersion(aside, version));
      } else if (shown !== undefined && this.#isHidden(key)) {
        this.view.hide(key);
        this.#aside.set(key, shown);
      }
    }
    this.view.log.commit();
  }

  #isHidden(key: string): boolean {
    if (this.#off) return false;
    return this.#filtered.has(key) || this.#options.world.withheld.has(key);
  }

  #tryStart(): void {
    const { world, followsWithheld } = this.#options;
    const initial = this.#initial;
    if (initial === undefined || !this.#synced || !world.settled) return;
    if (followsWithheld && !world.withheld.known) return;
    this.#initial = undefined;
    this.#off = world.standpoint?.off ?? false;
    for (const [key, object] of initial) if (this.#isHidden(key)) this.#aside.set(key, object);
    const shown = [...initial].filter(([key]) => !this.#aside.has(key));
    this.view.start((version) =>
      shown.map(([key, object]) => [key, this.#withVersion(object, version)] as const),
    );
  }

  #withVersion(object: ObjectBytes, resourceVersion: string): ObjectBytes {
    return this.view.codec.splice(this.view.resource, object, { resourceVersion });
  }
}
