import type { BufferList } from '../buffer-list.ts';
import { malformed } from '../malformed.ts';
import { FieldCursor } from './field-cursor.ts';

/** Begins every protobuf body and the object of every event (apimachinery serializer/protobuf). */
export const MAGIC = Buffer.from('k8s\0', 'latin1');

/** `runtime.Unknown` (apimachinery runtime/generated.proto): what an encoded object is wrapped in. */
const UNKNOWN = { typeMeta: 1, raw: 2, contentEncoding: 3 } as const;
const TYPE_META = { kind: 2 } as const;
/** An apiserver writes about 50 bytes before the object. */
const HEAD_BYTES = 4096;

/** An object taken out of its envelope. Offsets are into the buffer that was opened. */
export interface Opened {
  readonly kind: string;
  /** Span of the object's message. */
  readonly start: number;
  readonly end: number;
}

/** Whether the bytes are a protobuf body of Kubernetes at all. */
export function hasMagic(bytes: Buffer, start = 0): boolean {
  return bytes.length - start >= MAGIC.length && bytes.readUInt32BE(start) === MAGIC.readUInt32BE();
}

/**
 * Finds the object in an envelope. Throws `Malformed` when there is none.
 *
 * @param base offset of `bytes` in what errors should speak of
 */
export function openEnvelope(bytes: Buffer, base: number): Opened {
  assertMagic(bytes, base);
  const envelope = new Envelope();
  const fields = FieldCursor.over(bytes, MAGIC.length, base);
  while (fields.next()) envelope.take(fields, 0);
  return envelope.opened(base);
}

/** The same of a body in pieces: what lies before the object must fit into `HEAD_BYTES`. */
export function openEnvelopeInBuffers(body: BufferList): Opened {
  const head = body.slice(0, Math.min(HEAD_BYTES, body.length));
  assertMagic(head, 0);
  const envelope = new Envelope();
  const before = FieldCursor.over(head, MAGIC.length, 0, body.length);
  while (!envelope.hasObject && before.next()) envelope.take(before, 0);
  const { end } = envelope.opened(0);
  const after = FieldCursor.over(body.slice(end, body.length), 0, end);
  while (after.next()) envelope.take(after, end);
  return envelope.opened(0);
}

function assertMagic(bytes: Buffer, base: number): void {
  if (!hasMagic(bytes)) throw malformed('a body without the prefix of Kubernetes protobuf', base);
}

/** `runtime.Unknown` as it is read. */
class Envelope {
  #kind = '';
  #start = -1;
  #end = -1;

  get hasObject(): boolean {
    return this.#start >= 0;
  }

  /** @param offset what the cursor's buffer begins at */
  take(fields: FieldCursor, offset: number): void {
    if (fields.field === UNKNOWN.typeMeta) this.#kind = readKind(fields.enter(), this.#kind);
    if (fields.field === UNKNOWN.raw) {
      fields.assertMessage();
      this.#start = offset + fields.start;
      this.#end = offset + fields.end;
    }
    if (fields.field === UNKNOWN.contentEncoding && !fields.isText('')) {
      throw fields.malformed(`an object in the unknown content encoding ${fields.text()}`);
    }
  }

  opened(base: number): Opened {
    if (!this.hasObject) throw malformed('a protobuf envelope without an object', base);
    return { kind: this.#kind, start: this.#start, end: this.#end };
  }
}

function readKind(typeMeta: FieldCursor, before: string): string {
  let kind = before;
  while (typeMeta.next()) if (typeMeta.field === TYPE_META.kind) kind = typeMeta.text();
  return kind;
}
