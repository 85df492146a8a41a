import type { BufferList } from '../buffer-list.ts';
import type { Cursor } from '../cursor.ts';
import { malformed } from '../malformed.ts';
import { message, one, text, unread } from '../schema.ts';
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
 * Finds the object in an envelope. Throws `Malformed` if it has no object.
 *
 * @param base offset of `bytes` in the stream or body, for errors
 */
export function openEnvelope(bytes: Buffer, base: number): EnvelopeContent {
  assertMagic(bytes, base);
  const envelope = new Envelope();
  const fields = FieldCursor.over(bytes, UNKNOWN, MAGIC.length, base);
  while (fields.next()) envelope.take(fields, 0);
  return envelope.content(base);
}

/** {@link openEnvelope} of a body in several buffers. The part before the object must fit into `HEAD_BYTES`. */
export function openEnvelopeInBuffers(body: BufferList): EnvelopeContent {
  const head = body.slice(0, Math.min(HEAD_BYTES, body.length));
  assertMagic(head, 0);
  const envelope = new Envelope();
  const before = FieldCursor.over(head, UNKNOWN, MAGIC.length, 0, body.length);
  while (!envelope.hasObject && before.next()) envelope.take(before, 0);
  const { end } = envelope.content(0);
  const after = FieldCursor.over(body.slice(end, body.length), UNKNOWN, 0, end);
  while (after.next()) envelope.take(after, end);
  return envelope.content(0);
}

function assertMagic(bytes: Buffer, base: number): void {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC))
    throw malformed('a body without the prefix of Kubernetes protobuf', base);
}

/** Collects the fields of a `runtime.Unknown`. */
class Envelope {
  #kind = '';
  #start = -1;
  #end = -1;

  get hasObject(): boolean {
    return this.#start >= 0;
  }

  /**
   * Reads the cursor's current field.
   *
   * @param offset where the cursor's buffer begins in the body
   */
  take(fields: FieldCursor, offset: number): void {
    if (fields.field === UNKNOWN.typeMeta) this.#kind = readKind(fields.enter(), this.#kind);
    if (fields.field === UNKNOWN.raw) {
      fields.assertMessage();
      this.#start = offset + fields.start;
      this.#end = offset + fields.end;
    }
    if (fields.field === UNKNOWN.contentEncoding && fields.text() !== '') {
      throw fields.malformed(`an object in the unknown content encoding ${fields.text()}`);
    }
  }

  content(base: number): EnvelopeContent {
    if (!this.hasObject) throw malformed('a protobuf envelope without an object', base);
    return { kind: this.#kind, start: this.#start, end: this.#end };
  }
}

function readKind(typeMeta: Cursor, before: string): string {
  let kind = before;
  while (typeMeta.next()) if (typeMeta.field === TYPE_META.kind) kind = typeMeta.text();
  return kind;
}
