import { WireType } from '@bufbuild/protobuf/wire';
import type { WrapperError } from '../../../errors.ts';
import {
  type AnyMessage,
  type Field,
  type FieldTable,
  MAP_ENTRY,
  NO_FIELDS,
  TABLE,
  UNKNOWN_FIELD,
} from '../../objects/schema.ts';
import { malformed } from '../bytes/malformed.ts';
import type { Cursor } from '../cursor.ts';

/** A varint has at most ten bytes. */
const MAX_VARINT_BITS = 70;

/**
 * A {@link Cursor} over protobuf. It iterates over the fields of a message as byte spans. All offsets are into the
 * buffer given to {@link FieldCursor.over}. Every span lies within its message.
 *
 * It reads tags and lengths itself: creating a BinaryReader per message took longer than reading the message.
 */
export class FieldCursor implements Cursor {
  field: Field = UNKNOWN_FIELD;
  /** Number of the current field. */
  fieldNumber = 0;
  wireType = 0;
  /** Offset of the current field's tag. */
  fieldStart = 0;
  /** Offset of its value: after the tag, and after the length if it is length-delimited. */
  start = 0;
  /** Offset after the current field. */
  end: number;
  readonly bytes: Buffer;
  #fields: FieldTable;
  /** Offset after the message. */
  limit: number;
  readonly #base: number;
  /** Over the last embedded message, and then the next: a new cursor for each took longer than to read the message. */
  #inner: FieldCursor | undefined;

  private constructor(
    bytes: Buffer,
    fields: FieldTable,
    start: number,
    limit: number,
    base: number,
  ) {
    this.bytes = bytes;
    this.#fields = fields;
    this.limit = limit;
    this.#base = base;
    this.end = start;
  }

  /**
   * A cursor before the first field of a message.
   *
   * @param start offset of the message in `bytes`
   * @param base offset of `bytes` in the stream or body, for errors
   * @param limit offset after the message. It may lie beyond `bytes`. If a field also ends beyond `bytes`, only its
   *   tag and length can be read
   */
  static over(
    bytes: Buffer,
    message: AnyMessage,
    start = 0,
    base = 0,
    limit = bytes.length,
  ): FieldCursor {
    return new FieldCursor(bytes, message[TABLE], start, limit, base);
  }

  /** Moves to the next field; false at the end of the message. */
  next(): boolean {
    if (this.end >= this.limit) return false;
    this.fieldStart = this.end;
    this.#readField();
    if (this.end > this.limit) {
      throw this.#malformed(`protobuf field ${this.fieldNumber} exceeds its message`);
    }
    return true;
  }

  /** Throws unless the current field is length-delimited, as every message is. */
  assertMessage(): void {
    this.#expect(WireType.LengthDelimited);
  }

  /** A cursor over the current field as an embedded message. */
  enter(): FieldCursor {
    this.assertMessage();
    const fields = this.field.message ?? NO_FIELDS;
    const inner = this.#inner;
    if (inner === undefined) {
      this.#inner = new FieldCursor(this.bytes, fields, this.start, this.end, this.#base);
      return this.#inner;
    }
    inner.#fields = fields;
    inner.limit = this.end;
    inner.end = this.start;
    return inner;
  }

  encoded(): Buffer {
    this.assertMessage();
    return this.bytes.subarray(this.start, this.end);
  }

  /** The current field as text; bytes that are not UTF-8 become U+FFFD, as in Go. */
  text(): string {
    this.#expect(WireType.LengthDelimited);
    return this.bytes.toString('utf8', this.start, this.end);
  }

  readMap(map: Map<string, string>): void {
    const entry = this.enter();
    let key = '';
    let value = '';
    while (entry.next()) {
      if (entry.field === MAP_ENTRY.key) key = entry.text();
      else if (entry.field === MAP_ENTRY.value) value = entry.text();
    }
    map.set(key, value);
  }

  /** The current field as a bool. */
  bool(): boolean {
    this.#expect(WireType.Varint);
    for (let at = this.start; at < this.end; at++) {
      if (((this.bytes[at] as number) & 0x7f) !== 0) return true;
    }
    return false;
  }

  /** The current field as an int32. */
  number(): number {
    this.#expect(WireType.Varint);
    return this.#varint(this.start) | 0;
  }

  /** An error about the current field. */
  #malformed(what: string): WrapperError {
    return malformed(what, this.#base + this.fieldStart);
  }

  /** Reads the varint at an offset and sets {@link end}. Ignores bits above 32, as Kubernetes' own decoder does. */
  #varint(offset: number): number {
    let value = 0;
    let at = offset;
    for (let shift = 0; shift < MAX_VARINT_BITS; shift += 7) {
      if (at >= this.limit || at >= this.bytes.length) break;
      const byte = this.bytes[at++] as number;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.end = at;
        return value >>> 0;
      }
    }
    throw this.#malformed('a protobuf field that does not parse');
  }

  #readField(): void {
    const tag = this.#varint(this.end);
    this.fieldNumber = tag >>> 3;
    this.wireType = tag & 7;
    if (this.fieldNumber === 0) throw this.#malformed('protobuf field number 0');
    this.field = this.#fields.numbered(this.fieldNumber);
    this.start = this.end;
    switch (this.wireType) {
      case WireType.LengthDelimited: {
        const length = this.#varint(this.end);
        this.start = this.end;
        this.end = this.start + length;
        break;
      }
      case WireType.Varint:
        this.#varint(this.end);
        break;
      case WireType.Bit64:
        this.end = this.start + 8;
        break;
      case WireType.Bit32:
        this.end = this.start + 4;
        break;
      default:
        // Also a group, which Kubernetes never writes: skipping nested ones took seconds.
        throw this.#malformed(`protobuf wire type ${this.wireType}, which Kubernetes does not use`);
    }
  }

  #expect(wireType: WireType): void {
    if (this.wireType !== wireType) {
      throw this.#malformed(
        `protobuf field ${this.fieldNumber} has wire type ${this.wireType} instead of ${wireType}`,
      );
    }
  }
}
