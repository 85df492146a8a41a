import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { AddedField, MessageValue } from '../cursor.ts';
import { type Field, type FieldTable, NO_FIELDS } from '../facts/schema.ts';

/** Number of bytes of a varint. */
export function varintSize(value: number): number {
  let size = 1;
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) size++;
  return size;
}

/** Writes a length as a varint and returns the offset after it. */
export function writeVarint(target: Uint8Array, offset: number, value: number): number {
  let at = offset;
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) target[at++] = (rest & 0x7f) | 0x80;
  target[at++] = rest;
  return at;
}

/** The tag and the length of a text or a message. */
export function fieldHead(field: number, length: number): Buffer {
  const tag = (field << 3) | WireType.LengthDelimited;
  const head = Buffer.allocUnsafe(varintSize(tag) + varintSize(length));
  writeVarint(head, writeVarint(head, 0, tag), length);
  return head;
}

/** Encodes a field: a boolean, or a text or a message, which may be encoded already. */
export function encodeField(
  { number, message = NO_FIELDS }: Field,
  value: AddedField['value'],
): Buffer {
  if (typeof value === 'boolean') return Buffer.of((number << 3) | WireType.Varint, Number(value));
  const content =
    typeof value === 'string'
      ? Buffer.from(value)
      : Buffer.isBuffer(value)
        ? value
        : encodeMessage(message, value as MessageValue);
  return Buffer.concat([fieldHead(number, content.length), content]);
}

/** Encodes a message; see `Codec.encodeMessage`. */
export function encodeMessage(fields: FieldTable, value: MessageValue): Buffer {
  const writer = new BinaryWriter();
  writeFields(writer, fields, value);
  return Buffer.from(writer.finish());
}

function writeFields(writer: BinaryWriter, { fields }: FieldTable, value: MessageValue): void {
  for (const { name, number, message } of fields) {
    const values = value[name];
    for (const each of Array.isArray(values) ? values : [values]) {
      if (typeof each === 'string') writer.tag(number, WireType.LengthDelimited).string(each);
      if (typeof each === 'number') writer.tag(number, WireType.Varint).int32(each);
      if (typeof each === 'boolean') writer.tag(number, WireType.Varint).bool(each);
      if (message === undefined || each === undefined) continue;
      writer.tag(number, WireType.LengthDelimited).fork();
      writeFields(writer, message, each as MessageValue);
      writer.join();
    }
  }
}
