import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { WrapperError } from '../../errors.ts';
import { malformed } from '../malformed.ts';
import type { TextCache } from './text-cache.ts';

/**
 * Walks the fields of one protobuf message as byte spans, without decoding what nobody asks for. All
 * offsets are into the buffer that {@link FieldCursor.over} was given; every span lies within its message.
 * Whatever does not parse throws `Malformed`.
 */
export class FieldCursor {
  /** Field number of the current field. */
  field: number;
  wireType: number;
  /** Offset of the current field's tag. */
  fieldStart = 0;
  /** Offset after the tag: of the length prefix, or of a value without one. */
  valueStart = 0;
  /** Offset of the payload; same as `valueStart` unless the field is length-delimited. */
  start = 0;
  /** Offset after the current field. */
  end: number;
  readonly #bytes: Uint8Array;
  readonly #reader: BinaryReader;
  readonly #limit: number;
  readonly #base: number;

  private constructor(
    bytes: Uint8Array,
    reader: BinaryReader,
    start: number,
    limit: number,
    base: number,
  ) {
    this.#bytes = bytes;
    this.#reader = reader;
    this.#limit = limit;
    this.#base = base;
    this.field = 0;
    this.wireType = 0;
    this.end = start;
  }

  /**
   * A cursor before the first field of a message.
   *
   * @param start offset of the message in `bytes`
   * @param base offset of `bytes` in what errors should speak of
   */
  static over(bytes: Uint8Array, start = 0, base = 0): FieldCursor {
    return new FieldCursor(bytes, new BinaryReader(bytes), start, bytes.length, base);
  }

  /** Moves to the next field; false at the end of the message. */
  next(): boolean {
    if (this.end >= this.#limit) return false;
    this.fieldStart = this.end;
    try {
      this.#readField();
    } catch (error) {
      if (error instanceof WrapperError) throw error;
      throw this.malformed('a protobuf field that does not parse', error);
    }
    if (this.end > this.#limit) {
      throw this.malformed(`protobuf field ${this.field} exceeds its message`);
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
    return new FieldCursor(this.#bytes, this.#reader, this.start, this.end, this.#base);
  }

  /** The current field as text; bytes that are not UTF-8 become U+FFFD, as in Go. */
  text(): string {
    this.#expect(WireType.LengthDelimited);
    this.#reader.pos = this.valueStart;
    return this.#reader.string();
  }

  /** As {@link text}, for one of the texts that occur again and again. */
  cachedText(texts: TextCache): string {
    this.#expect(WireType.LengthDelimited);
    return texts.read(this.#bytes, this.start, this.end, () => this.text());
  }

  /** Whether the current field is this ASCII text. Most are told apart by their length alone. */
  isText(text: string): boolean {
    return this.end - this.start === text.length && this.text() === text;
  }

  /** The current field as a bool. */
  bool(): boolean {
    this.#expect(WireType.Varint);
    this.#reader.pos = this.valueStart;
    return this.#reader.bool();
  }

  /** The current field as an int32. */
  int32(): number {
    this.#expect(WireType.Varint);
    this.#reader.pos = this.valueStart;
    return this.#reader.int32();
  }

  /** An error about the current field. */
  malformed(what: string, cause?: unknown): WrapperError {
    return malformed(what, this.#base + this.fieldStart, cause);
  }

  #readField(): void {
    const reader = this.#reader;
    reader.pos = this.end;
    // Not reader.tag(), for it allocates; Kubernetes' own decoder ignores the bits above 32 as well.
    const tag = reader.uint32();
    this.field = tag >>> 3;
    this.wireType = tag & 7;
    if (this.field === 0) throw this.malformed('protobuf field number 0');
    this.valueStart = reader.pos;
    this.start = reader.pos;
    switch (this.wireType) {
      case WireType.LengthDelimited: {
        const length = reader.uint32();
        this.start = reader.pos;
        this.end = this.start + length;
        break;
      }
      case WireType.Varint:
        reader.uint32();
        this.end = reader.pos;
        break;
      case WireType.Bit64:
        this.end = this.start + 8;
        break;
      case WireType.Bit32:
        this.end = this.start + 4;
        break;
      default:
        // Only here for groups, which Kubernetes never writes: skip() makes a view of what it skips.
        reader.skip(this.wireType, this.field);
        this.end = reader.pos;
    }
  }

  #expect(wireType: WireType): void {
    if (this.wireType !== wireType) {
      throw this.malformed(
        `protobuf field ${this.field} has wire type ${this.wireType} instead of ${wireType}`,
      );
    }
  }
}
