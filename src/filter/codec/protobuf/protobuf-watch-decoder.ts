import { readMessage } from '../../objects/read-message.ts';
import { STATUS } from '../../objects/schema.ts';
import { readStatus } from '../../objects/status.ts';
import { BufferList } from '../bytes/buffer-list.ts';
import { malformed, objectTooLarge } from '../bytes/malformed.ts';
import { ownedCopy } from '../bytes/owned-copy.ts';
import type { RawEvent } from '../bytes/raw-objects.ts';
import { toEvent, WatchDecoder } from '../bytes/watch-decoder.ts';
import { FRAME_HEADER_BYTES, openEnvelope, WATCH_EVENT } from './envelope.ts';
import { FieldCursor } from './field-cursor.ts';

/** Type of an event, and the tag and length of its object: two heads of a field, and the longest type. */
const EVENT_HEAD_BYTES = 32;
const EVENT_TYPES = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR'];

/** Decodes a watch stream of protobuf. The header of an event is a frame of its own. */
export class ProtobufWatchDecoder extends WatchDecoder {
  readonly #maxFrameBytes: number;
  /** Length of the event whose header was read last; undefined: a header follows. */
  #eventBytes: number | undefined;
  /** The first bytes of an event that arrives in parts. */
  #head: Buffer = NO_BYTES;

  constructor(maxFrameBytes: number) {
    super();
    this.#maxFrameBytes = maxFrameBytes;
  }

  protected frameLength(bytes: Buffer, received: number, offset: number): number | undefined {
    const missing = (this.#eventBytes ?? FRAME_HEADER_BYTES) - received;
    if (bytes.length >= missing) return missing;
    if (this.#eventBytes !== undefined) this.#checkHead(bytes, this.#eventBytes, offset);
    return undefined;
  }

  protected decode(frame: Buffer, offset: number): RawEvent | undefined {
    if (this.#eventBytes !== undefined) {
      this.#eventBytes = undefined;
      this.#head = NO_BYTES;
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

  protected hasBegun(received: number): boolean {
    return received > 0 || this.#eventBytes !== undefined;
  }

  /** Throws `Malformed` unless an event that is not complete begins as one. */
  #checkHead(bytes: Buffer, eventBytes: number, offset: number): void {
    if (this.#head.length >= EVENT_HEAD_BYTES) return;
    const more = bytes.subarray(0, EVENT_HEAD_BYTES - this.#head.length);
    this.#head = Buffer.concat([this.#head, more]);
    if (this.#head.length < EVENT_HEAD_BYTES) return;
    const fields = FieldCursor.over(this.#head, WATCH_EVENT, 0, offset, eventBytes);
    fields.next();
    const hasType = fields.field === WATCH_EVENT.type && EVENT_TYPES.includes(fields.text());
    fields.next();
    if (hasType && fields.field === WATCH_EVENT.object) return;
    throw malformed('a frame that is not a watch event', offset);
  }
}

const NO_BYTES = Buffer.alloc(0);

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
