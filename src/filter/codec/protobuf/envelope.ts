import { readMessage } from '../../objects/read-message.ts';
import { apiVersion, type Resource } from '../../objects/resource.ts';
import {
  type AnyMessage,
  bytes,
  type Field,
  message,
  one,
  text,
  UNKNOWN_FIELD,
  unread,
} from '../../objects/schema.ts';
import type { BufferList } from '../bytes/buffer-list.ts';
import { malformed } from '../bytes/malformed.ts';
import { encodeField, fieldHead } from './encode.ts';
import { FieldCursor } from './field-cursor.ts';

/** First bytes of every protobuf body and of the object in every event (apimachinery serializer/protobuf). */
const PROTOBUF_MAGIC = Buffer.from('k8s\0', 'latin1');

/** `runtime.Unknown`, the envelope of an encoded object (apimachinery runtime/generated.proto). */
const TYPE_META = message({ apiVersion: text(1), kind: text(2) });
export const RUNTIME_UNKNOWN = message({
  typeMeta: one(1, TYPE_META),
  raw: unread(2),
  contentEncoding: text(3),
});
/** `runtime.Unknown` ends with its content encoding and content type, both empty. */
export const UNKNOWN_TAIL = Buffer.from('1a002200', 'hex');
/** Each event begins with its length as a big-endian uint32 (apimachinery util/framer). */
export const FRAME_HEADER_BYTES = 4;
/** WatchEvent, and the RawExtension that contains its object (apimachinery meta/v1, runtime). */
const RAW_EXTENSION = message({ raw: bytes(1) });
export const WATCH_EVENT = message({ type: text(1), object: one(2, RAW_EXTENSION) });
/** A tag and a length are two varints of at most ten bytes. */
const FIELD_HEAD_BYTES = 20;

/** A field of a body. Offsets are into the body. */
export interface FieldSpan {
  readonly field: Field;
  /** Of its content, a text or a message. */
  readonly start: number;
  readonly end: number;
}

/** Where the object in an envelope is. */
export interface EnvelopeContent extends FieldSpan {
  readonly kind: string;
}

/**
 * Finds the object in an envelope. Throws `Malformed` if it has no object.
 *
 * @param base offset of the envelope in the stream or body, for errors
 */
export function openEnvelope(body: BufferList, base: number): EnvelopeContent {
  if (!body.slice(0, Math.min(PROTOBUF_MAGIC.length, body.length)).equals(PROTOBUF_MAGIC)) {
    throw malformed('a body without the prefix of Kubernetes protobuf', base);
  }
  let kind = '';
  let content: FieldSpan | undefined;
  for (const span of fieldSpans(body, RUNTIME_UNKNOWN, PROTOBUF_MAGIC.length, body.length, base)) {
    const bytes = () => body.slice(span.start, span.end);
    if (span.field === RUNTIME_UNKNOWN.raw) content = span;
    else if (span.field === RUNTIME_UNKNOWN.typeMeta) {
      const type = FieldCursor.over(bytes(), TYPE_META, 0, base + span.start);
      kind = readMessage(type, TYPE_META).kind;
    } else if (span.start < span.end) {
      throw malformed(`an object in the unknown content encoding ${bytes()}`, base + span.start);
    }
  }
  if (content === undefined) throw malformed('a protobuf envelope without an object', base);
  return { ...content, kind };
}

/**
 * The fields of a message in a body, those that the schema has. Their contents are not read, so that a list is not
 * joined.
 *
 * @param base offset of the body in the stream, for errors
 */
export function* fieldSpans(
  body: BufferList,
  message: AnyMessage,
  start: number,
  end: number,
  base: number,
): Generator<FieldSpan> {
  for (let at = start; at < end; ) {
    const head = body.slice(at, Math.min(at + FIELD_HEAD_BYTES, end));
    const cursor = FieldCursor.over(head, message, 0, base + at, end - at);
    cursor.next();
    if (cursor.field !== UNKNOWN_FIELD) {
      cursor.assertMessage();
      yield { field: cursor.field, start: at + cursor.start, end: at + cursor.end };
    }
    at += cursor.end;
  }
}

/** The beginning of a body: magic and type. The object as a field must follow. */
export function bodyHead(resource: Resource, kind = resource.kind): Buffer {
  const type = encodeField(RUNTIME_UNKNOWN.typeMeta, { apiVersion: apiVersion(resource), kind });
  return Buffer.concat([PROTOBUF_MAGIC, type]);
}

/** The first field of events, by their type. */
const EVENT_TYPES = new Map(
  ['ADDED', 'MODIFIED', 'DELETED'].map((type) => [type, encodeField(WATCH_EVENT.type, type)]),
);

/**
 * The heads of the frames of one resource, by type and length of the object. To encode one takes longer than to copy an
 * object of 500 bytes, and objects of a kind have similar lengths.
 */
export class FrameHeads {
  readonly #head: Buffer;
  readonly #byType = new Map<string, Map<number, Buffer>>();

  constructor(resource: Resource) {
    this.#head = bodyHead(resource);
  }

  /** The part of a frame before its object. */
  of(type: string, objectBytes: number): Buffer {
    let heads = this.#byType.get(type);
    if (heads === undefined) {
      heads = new Map();
      this.#byType.set(type, heads);
    }
    const known = heads.get(objectBytes);
    if (known !== undefined) return known;
    const head = frameHead(type, this.#head, objectBytes);
    if (heads.size >= MAX_HEADS) heads.clear();
    heads.set(objectBytes, head);
    return head;
  }
}

/** So many heads of a type are kept: 0.2 MB. */
const MAX_HEADS = 1_024;

/** Each head has the length of what follows it, so the innermost comes first. */
function frameHead(type: string, head: Buffer, objectBytes: number): Buffer {
  const object = fieldHead(RUNTIME_UNKNOWN.raw.number, objectBytes);
  const unknown = head.length + object.length + objectBytes + UNKNOWN_TAIL.length;
  const raw = fieldHead(RAW_EXTENSION.raw.number, unknown);
  const extension = fieldHead(WATCH_EVENT.object.number, raw.length + unknown);
  const eventType = EVENT_TYPES.get(type) ?? encodeField(WATCH_EVENT.type, type);
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
  frame.writeUInt32BE(eventType.length + extension.length + raw.length + unknown);
  return Buffer.concat([frame, eventType, extension, raw, head, object]);
}
