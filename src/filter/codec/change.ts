import type { ObjectBytes, ObjectMeta } from './codec.ts';

/**
 * One change of an object at the API server: a difference to what was known, so also what a re-list found to
 * be different. An object that was deleted and created again is a DELETED and an ADDED.
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
  | { readonly type: 'DELETED'; readonly key: string };

/** Takes changes, in order. Never throws: what does not parse was turned away before. */
export interface ChangeHandler<Facts extends ObjectMeta = ObjectMeta> {
  /** Changes that arrived together. A list arrives whole, in one call. */
  onChanges(changes: readonly Change<Facts>[]): void;
  /** All that exists at the API server has been told. Called after each list. */
  onSynced(): void;
}

/** Key of an object in its collection: `namespace/name`, or `name` for a cluster-scoped one. */
export function objectKey(meta: Pick<ObjectMeta, 'namespace' | 'name'>): string {
  return meta.namespace === '' ? meta.name : `${meta.namespace}/${meta.name}`;
}
