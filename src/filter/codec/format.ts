import type { ChangeType, Codec, ObjectBytes } from './codec.ts';
import type { Cursor, Editor, MessageValue } from './cursor.ts';
import type { Resource } from './facts/resource.ts';
import type { AnyMessage } from './facts/schema.ts';

/** Types of the events of a watch stream. */
export type EventType = ChangeType | 'BOOKMARK' | 'ERROR';

/** What differs between the encodings. create-codec.ts makes a codec of it. */
export interface Format
  extends Pick<
    Codec,
    'encoding' | 'decodeList' | 'watchDecoder' | 'decodeStatus' | 'encodeList' | 'encodeObject'
  > {
  /** A cursor before the first field of an object. */
  cursor(object: Buffer, message: AnyMessage): Cursor;
  editor(object: Buffer): Editor;
  /** Encodes a message. JSON leaves out empty texts and zeros, as Go does (`omitempty`). */
  encode(message: AnyMessage, value: MessageValue): Buffer;
  /** One frame of a watch stream, as a list of buffers. */
  encodeEvent(resource: Resource, type: EventType, object: ObjectBytes): Buffer[];
  /** The object of a bookmark; see `Codec.encodeBookmark`. */
  bookmark(resource: Resource, resourceVersion: string, initialEventsEnd: boolean): ObjectBytes;
}
