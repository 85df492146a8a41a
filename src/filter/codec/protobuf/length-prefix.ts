import { WireType } from '@bufbuild/protobuf/wire';

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

/** Encodes a field: a boolean, a text or an encoded message. */
export function encodeField(field: number, value: string | boolean | Buffer): Buffer {
  if (typeof value === 'boolean')
    return Buffer.from([(field << 3) | WireType.Varint, Number(value)]);
  const content = typeof value === 'string' ? Buffer.from(value) : value;
  return Buffer.concat([fieldHead(field, content.length), content]);
}
