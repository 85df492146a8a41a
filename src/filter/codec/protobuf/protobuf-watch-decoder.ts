import { BufferList } from '../bytes/buffer-list.ts';
import { malformed, objectTooLarge } from '../bytes/malformed.ts';
import { ownedCopy } from '../bytes/owned-copy.ts';
import type { RawEvent } from '../bytes/raw-objects.ts';
import { toEvent, WatchDecoder } from '../bytes/watch-decoder.ts';
import { readMessage } from '../facts/read-message.ts';
import { STATUS } from '../facts/schema.ts';
import { readStatus } from '../facts/status.ts';
import { FRAME_HEADER_BYTES, openEnvelope, WATCH_EVENT } from './envelope.ts';
import { FieldCursor } from './field-cursor.ts';

/** Decodes a watch stream of protobuf. The header of an event is a frame of its own. */
export class ProtobufWatchDecoder extends WatchDecoder {
  readonly #maxFrameBytes: number;
  /** Length of the event whose header was read last; undefined: a header follows. */
  #eventBytes: number | undefined;

  constructor(maxFrameBytes: number) {
    super();
    this.#maxFrameBytes = maxFrameBytes;
  }

  protected frameLength(bytes: Buffer, received: number): number | undefined {
    const missing = (this.#eventBytes ?? FRAME_HEADER_BYTES) - received;
    return bytes.length < missing ? undefined : missing;
  }

  protected decode(frame: Buffer, offset: number): RawEvent | undefined {
    if (this.#eventBytes !== undefined) {
      this.#eventBytes = undefined;
      return decodeEvent(frame, offset);
    }
    const length = frame.readUInt32BE();
    if (length > this.#maxFrameBytes) {
      const what = `a watch event of ${length} bytes at offset ${offset + FRAME_HEADER_BYTES}`;
      throw objectTooLarge(what, this.#maxFrameBytes);
    }
    this.#eventBytes = length;
    return undefined;
  }

  protected isComplete(rest: Buffer): boolean {
    return rest.length === 0 && this.#eventBytes === undefined;
  }
}

/** @param base offset of the event in the stream */
function decodeEvent(event: Buffer, base: number): RawEvent {
  const fields = FieldCursor.over(event, WATCH_EVENT, 0, base);
  const { type, object: extension } = readMessage(fields, WATCH_EVENT);
  const envelope = extension.raw;
  if (envelope === undefined) throw malformed('a watch event without an object', base);
  const at = base + envelope.byteOffset - event.byteOffset;
  const { kind, start, end } = openEnvelope(new BufferList([envelope]), at);
  const object = envelope.subarray(start, end);
  const status =
    kind === 'Status' ? readStatus(FieldCursor.over(object, STATUS, 0, at + start)) : undefined;
  return toEvent(type, ownedCopy(object), status, at);
}
