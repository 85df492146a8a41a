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

/**
 * Encodes a field: tag, then a boolean, or the length and a text as UTF-8 or a message. Unlike a BinaryWriter, it
 * allocates only the result.
 */
export function encodeField(field: number, value: string | boolean | Buffer): Buffer {
  if (typeof value === 'boolean')
    return Buffer.from([(field << 3) | WireType.Varint, Number(value)]);
  const length = Buffer.byteLength(value);
  const bytes = Buffer.allocUnsafe(varintSize(field << 3) + varintSize(length) + length);
  const at = writeVarint(bytes, 0, (field << 3) | WireType.LengthDelimited);
  const start = writeVarint(bytes, at, length);
  if (typeof value === 'string') bytes.write(value, start);
  else bytes.set(value, start);
  return bytes;
}

/** A length as a varint. */
export function lengthPrefix(length: number): Uint8Array {
  const prefix = new Uint8Array(varintSize(length));
  writeVarint(prefix, 0, length);
  return prefix;
}
