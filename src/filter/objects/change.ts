import type { ObjectBytes } from '../codec/bytes/raw-objects.ts';
import type { Encoding } from '../codec/codec.ts';
import type { ObjectMeta } from './object-facts.ts';

/**
 * One change of an object at the API server, from a watch event or from a difference that a new list shows.
 * An object that was deleted and created again gives a DELETED and an ADDED.
 */
export type Change<Facts extends ObjectMeta = ObjectMeta> =
  | {
      readonly type: 'ADDED' | 'MODIFIED';
      /** {@link objectKey} of the object. */
      readonly key: string;
      readonly facts: Facts;
      /** The raw object. */
      readonly object: ObjectBytes;
    }
  | {
      readonly type: 'DELETED';
      readonly key: string;
      /** The version of the deletion; absent: a list or a successor shows that the object is gone. */
      readonly resourceVersion?: string;
    };

/** Receives changes, in order. It never throws: objects that do not parse were refused before. */
export interface ChangeHandler<Facts extends ObjectMeta = ObjectMeta> {
  /**
   * Called before the changes of a list, or of watch events and bookmarks: up to which version they lead. Between two
   * calls with events there is no gap.
   */
  onVersion?(resourceVersion: string, isList: boolean): void;
  /** Called with the changes that arrived together. A whole list is one call. */
  onChanges(changes: readonly Change<Facts>[]): void;
  /** Called after each list: every object of the API server has been passed to {@link onChanges}. */
  onSynced(): void;
  /**
   * Called in place of {@link onChanges} and {@link onSynced} after a list in another encoding than before, at first
   * than in the query. The changes have all objects. Default: the encoding makes no difference.
   */
  onReencoded?(encoding: Encoding, changes: readonly Change<Facts>[]): void;
}

/** Key of an object in its collection: `namespace/name`, or `name` for a cluster-scoped one. */
export function objectKey(meta: Pick<ObjectMeta, 'namespace' | 'name'>): string {
  return meta.namespace === '' ? meta.name : `${meta.namespace}/${meta.name}`;
}
