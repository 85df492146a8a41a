import type { BufferList } from '../bytes/buffer-list.ts';
import { malformed } from '../bytes/malformed.ts';
import { readMessage } from '../facts/read-message.ts';
import { apiVersion, type Resource } from '../facts/resource.ts';
import {
  type AnyMessage,
  type Field,
  message,
  one,
  text,
  UNKNOWN_FIELD,
  unread,
} from '../facts/schema.ts';
import { encodeField, varintSize, writeVarint } from './encode.ts';
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
/** Tags of `Unknown.raw`, `WatchEvent.object` and `RawExtension.raw`. */
const TAG_FIELD_1 = 0x0a;
const TAG_FIELD_2 = 0x12;
const FRAME_HEADER_BYTES = 4;
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

/** Heads by resource. They never change, and 10,000 events need the same one. */
const HEADS = new WeakMap<Resource, Buffer>();

export function headOf(resource: Resource): Buffer {
  const cached = HEADS.get(resource);
  if (cached !== undefined) return cached;
  const head = bodyHead(resource);
  HEADS.set(resource, head);
  return head;
}

/** The part of a frame before its object. Sizes are summed from the innermost message outwards. */
export function frameHead(type: string, head: Uint8Array, objectBytes: number): Buffer {
  const prefix = head.length + 1 + varintSize(objectBytes);
  const raw = prefix + objectBytes + UNKNOWN_TAIL.length;
  const extension = 1 + varintSize(raw) + raw;
  const event = 2 + type.length + 1 + varintSize(extension) + extension;
  const target = Buffer.allocUnsafe(FRAME_HEADER_BYTES + event - objectBytes - UNKNOWN_TAIL.length);
  let at = target.writeUInt32BE(event);
  target[at++] = TAG_FIELD_1;
  at = writeVarint(target, at, type.length);
  at += target.write(type, at, 'latin1');
  target[at++] = TAG_FIELD_2;
  at = writeVarint(target, at, extension);
  target[at++] = TAG_FIELD_1;
  at = writeVarint(target, at, raw);
  target.set(head, at);
  at += head.length;
  target[at++] = TAG_FIELD_2;
  writeVarint(target, at, objectBytes);
  return target;
}
