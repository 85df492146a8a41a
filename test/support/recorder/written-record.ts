/** An object as a client received it. */
export interface WrittenObject {
  readonly key: string;
  readonly version: string;
  /** A hash of the object without its version. */
  readonly digest: string;
}

/** What a client received. */
export type ReceivedRecord<T> =
  /** A LIST, or a streaming list that is complete. */
  | { readonly kind: 'list'; readonly version: string; readonly items: readonly T[] }
  /** A watch was accepted. */
  | { readonly kind: 'watch'; readonly from: string }
  | {
      readonly kind: 'event';
      readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
      readonly object: T;
    }
  | { readonly kind: 'bookmark'; readonly version: string }
  /** A version was refused with 410. */
  | { readonly kind: 'expired'; readonly from: string }
  | { readonly kind: 'end'; readonly why: string }
  /** A complete line or body that is invalid: this must not happen. */
  | { readonly kind: 'unreadable'; readonly what: string };

/** The same, as it is written. */
export type WrittenRecord = ReceivedRecord<WrittenObject> & {
  /** The process that gave the answer that it belongs to. */
  readonly process: string;
};
