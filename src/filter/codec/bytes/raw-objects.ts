import type { Status } from '../../../errors.ts';

/** How objects are encoded. */
export type Encoding = 'json' | 'protobuf';

/**
 * An object's encoded bytes without `kind` and `apiVersion`, as the items of a LIST carry them: a JSON object without
 * newlines, or the protobuf message inside `runtime.Unknown.raw`.
 */
export type ObjectBytes = Buffer;

/**
 * A decoded LIST. The items share the memory of the body, except an item that spans two buffers, and one of JSON that
 * JavaScript writes in another way.
 */
export interface RawList {
  /** Such as `EndpointSliceList`. */
  readonly kind: string;
  readonly resourceVersion: string;
  /** Continue token of a chunked list; empty when the list is complete. */
  readonly continue: string;
  readonly items: readonly ObjectBytes[];
  /** What its items say that they are. An API server's say nothing. */
  readonly itemKinds: ReadonlySet<string>;
  /** Empty in a list of an API server since 1.20. */
  readonly selfLink: string;
}

/** One decoded watch event. The object owns its bytes; it does not keep the network chunk alive. */
export type RawEvent =
  | {
      readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
      readonly object: ObjectBytes;
    }
  | { readonly type: 'ERROR'; readonly status: Status };
