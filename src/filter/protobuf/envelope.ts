import { malformed } from '../malformed.ts';
import { FieldCursor } from './field-cursor.ts';

/** Begins every protobuf body and the object of every event (apimachinery serializer/protobuf). */
export const MAGIC = Buffer.from('k8s\0', 'latin1');

/** `runtime.Unknown` (apimachinery runtime/generated.proto): what an encoded object is wrapped in. */
const UNKNOWN = { typeMeta: 1, raw: 2, contentEncoding: 3 } as const;
const TYPE_META = { kind: 2 } as const;

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
  if (!hasMagic(bytes)) throw malformed('a body without the prefix of Kubernetes protobuf', base);
  let kind = '';
  let start = -1;
  let end = -1;
  const fields = FieldCursor.over(bytes, MAGIC.length, base);
  while (fields.next()) {
    if (fields.field === UNKNOWN.typeMeta) kind = readKind(fields.enter(), kind);
    if (fields.field === UNKNOWN.raw) {
      fields.assertMessage();
      ({ start, end } = fields);
    }
    if (fields.field === UNKNOWN.contentEncoding && !fields.isText('')) {
      throw fields.malformed(`an object in the unknown content encoding ${fields.text()}`);
    }
  }
  if (start < 0) throw malformed('a protobuf envelope without an object', base);
  return { kind, start, end };
}

function readKind(typeMeta: FieldCursor, before: string): string {
  let kind = before;
  while (typeMeta.next()) if (typeMeta.field === TYPE_META.kind) kind = typeMeta.text();
  return kind;
}
