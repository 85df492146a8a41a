import { WireType } from '@bufbuild/protobuf/wire';
import { type Field, type FieldTable, NO_FIELDS } from '../../objects/schema.ts';
import type { AddedField, MessageValue } from '../cursor.ts';

/** The tag and the length of a text or a message. */
export function fieldHead(field: number, length: number): Buffer {
  return Buffer.from(varint(length, varint((field << 3) | WireType.LengthDelimited)));
}

/** Encodes a field: a boolean, an int32, or a text or a message, which may be encoded already. */
export function encodeField(
  { number, message = NO_FIELDS }: Field,
  value: AddedField['value'] | number,
): Buffer {
  if (typeof value === 'boolean' || typeof value === 'number') {
    return Buffer.from(varint(Number(value), varint((number << 3) | WireType.Varint)));
  }
  if (typeof value === 'string') return textField(number, value);
  const content = Buffer.isBuffer(value) ? value : encodeMessage(message, value as MessageValue);
  return Buffer.concat([fieldHead(number, content.length), content]);
}

/** Each edit of an object has one, so it is written into one buffer. */
function textField(number: number, text: string): Buffer {
  const length = Buffer.byteLength(text);
  const head = varint(length, varint((number << 3) | WireType.LengthDelimited));
  const field = Buffer.allocUnsafe(head.length + length);
  field.set(head);
  field.write(text, head.length);
  return field;
}

/** Encodes a message; see `Codec.encodeMessage`. */
export function encodeMessage({ fields }: FieldTable, value: MessageValue): Buffer {
  const encoded = fields.flatMap((field) => {
    const values = [value[field.name] ?? []].flat();
    return values.map((item) => encodeField(field, item));
  });
  return Buffer.concat(encoded);
}

/** Appends a number. A decoder of int32 reads the 32 bits of a negative number as that number. */
function varint(value: number, bytes: number[] = []): number[] {
  let rest = value >>> 0;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return bytes;
}
