import { WireType } from '@bufbuild/protobuf/wire';
import type { Patch } from '../patch.ts';

/** The position of an embedded message. */
export interface MessageSpan {
  /** Offset of the length prefix. */
  readonly valueStart: number;
  /** Offset of the content. */
  readonly start: number;
  /** Offset after the content. */
  readonly end: number;
}

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

/** Encodes a text field: tag, length, UTF-8. Unlike a BinaryWriter, it allocates only the result. */
export function textField(field: number, text: string): Uint8Array {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(varintSize(field << 3) + varintSize(length) + length);
  const at = writeVarint(bytes, 0, (field << 3) | WireType.LengthDelimited);
  bytes.write(text, writeVarint(bytes, at, length));
  return bytes;
}

/**
 * Runs an edit of an embedded message and then corrects the message's length prefix. If the length does not change,
 * the prefix is kept byte for byte.
 *
 * @param edit adds the edits of the message's content to the patch
 */
export function editMessage(patch: Patch, message: MessageSpan, edit: () => void): void {
  const { valueStart, start, end } = message;
  const before = patch.delta;
  edit();
  const delta = patch.delta - before;
  if (delta === 0) return;
  const length = end - start + delta;
  const prefix = new Uint8Array(varintSize(length));
  writeVarint(prefix, 0, length);
  patch.replace(valueStart, start, prefix);
}
