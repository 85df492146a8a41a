import type { CachedObject } from './cached-object.ts';
import type { ReadPath } from './edge-read.ts';

export interface CachedList {
  readonly resourceVersion: string;
  readonly items: readonly CachedObject[];
  readonly selfLink?: string;
}

/** The objects that a cache has stored on the node: those that a watch has brought. */
export class EdgeStore {
  /** The newest version of an object, as MetaServer counts it. */
  revision = 0;
  readonly #objects = new Map<string, CachedObject>();

  take(plural: string, type: string, object: CachedObject): void {
    const { namespace = '', name, resourceVersion } = object.metadata;
    const key = `${plural} ${namespace}/${name}`;
    if (type === 'DELETED') this.#objects.delete(key);
    else this.#objects.set(key, object);
    if (type !== 'DELETED') this.revision = Math.max(this.revision, Number(resourceVersion));
  }

  /** Without any object of the collection, the list has no version. */
  list({ plural, matches, followPath }: ReadPath): CachedList {
    const all = [...this.#objects].filter(([key]) => key.startsWith(`${plural} `));
    const items = all.map(([, object]) => object).filter(matches);
    if (all.length === 0) return { resourceVersion: '', items };
    return { resourceVersion: String(this.revision), items, selfLink: followPath };
  }
}
