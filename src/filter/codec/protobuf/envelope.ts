import type { BufferList } from '../bytes/buffer-list.ts';
import { malformed } from '../bytes/malformed.ts';
import { readMessage } from '../facts/read-message.ts';
import { message, one, text, unread } from '../facts/schema.ts';
import { FieldCursor } from './field-cursor.ts';

/** First bytes of every protobuf body and of the object in every event (apimachinery serializer/protobuf). */
export const MAGIC = Buffer.from('k8s\0', 'latin1');

/** `runtime.Unknown`, the envelope of an encoded object (apimachinery runtime/generated.proto). */
export const TYPE_META = message({ apiVersion: text(1), kind: text(2) });
export const UNKNOWN = message({
  typeMeta: one(1, TYPE_META),
  raw: unread(2),
  contentEncoding: text(3),
});
/** Maximum bytes before the object. A kube-apiserver writes about 50. */
const HEAD_BYTES = 4096;

/** Where the object in an envelope is. Offsets are into the bytes of the envelope. */
export interface EnvelopeContent {
  readonly kind: string;
  /** Span of the object's message. */
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the object in an envelope. Throws `Malformed` if it has no object. The part before the object must fit into
 * `HEAD_BYTES`.
 *
 * @param base offset of the envelope in the stream or body, for errors
 */
export function openEnvelope(body: BufferList, base: number): EnvelopeContent {
  const head = body.slice(0, Math.min(HEAD_BYTES, body.length));
  if (!head.subarray(0, MAGIC.length).equals(MAGIC))
    throw malformed('a body without the prefix of Kubernetes protobuf', base);
  let content: EnvelopeContent = { kind: '', start: -1, end: -1 };
  const before = FieldCursor.over(head, UNKNOWN, MAGIC.length, base, body.length);
  while (content.start < 0 && before.next()) content = readField(before, 0, content);
  if (content.start < 0) throw malformed('a protobuf envelope without an object', base);
  const { end } = content;
  const after = FieldCursor.over(body.slice(end, body.length), UNKNOWN, 0, base + end);
  while (after.next()) content = readField(after, end, content);
  return content;
}

/** @param offset where the cursor's buffer begins in the envelope */
function readField(fields: FieldCursor, offset: number, content: EnvelopeContent): EnvelopeContent {
  switch (fields.field) {
    case UNKNOWN.typeMeta:
      return { ...content, kind: readMessage(fields.enter(), TYPE_META).kind || content.kind };
    case UNKNOWN.raw:
      fields.assertMessage();
      return { ...content, start: offset + fields.start, end: offset + fields.end };
    case UNKNOWN.contentEncoding:
      if (fields.text() === '') return content;
      throw fields.malformed(`an object in the unknown content encoding ${fields.text()}`);
    default:
      return content;
  }
}
