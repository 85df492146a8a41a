import { malformed, objectTooLarge } from './malformed.ts';
import { PartialFrame } from './partial-frame.ts';
import type { FrameHandler, FrameSplitter } from './watch-decoder.ts';

/** Each frame begins with its length as a big-endian uint32 (apimachinery util/framer). */
const HEADER_BYTES = 4;

/** Splits a protobuf watch stream into frames without their headers. */
export class LengthPrefixSplitter implements FrameSplitter {
  readonly #maxFrameBytes: number;
  /** The current header or frame. */
  readonly #partial = new PartialFrame();
  /** Length of the current header or frame. */
  #need = HEADER_BYTES;
  #inHeader = true;
  /** Offset of the current header or frame in the stream. */
  #offset = 0;

  constructor(maxFrameBytes: number) {
    this.#maxFrameBytes = maxFrameBytes;
  }

  push(chunk: Buffer, onFrame: FrameHandler): void {
    let position = 0;
    while (chunk.length - position >= this.#need - this.#partial.length) {
      const end = position + this.#need - this.#partial.length;
      const bytes = this.#partial.complete(chunk.subarray(position, end));
      this.#offset += bytes.length;
      position = end;
      if (this.#inHeader) {
        this.#beginFrame(bytes.readUInt32BE());
      } else {
        this.#inHeader = true;
        this.#need = HEADER_BYTES;
        onFrame(bytes, this.#offset - bytes.length);
      }
    }
    this.#partial.add(chunk.subarray(position));
  }

  finish(): void {
    if (this.#partial.length > 0 || !this.#inHeader) {
      throw malformed('watch stream ends within a frame', this.#offset + this.#partial.length);
    }
  }

  #beginFrame(length: number): void {
    if (length > this.#maxFrameBytes) {
      const what = `a watch event of ${length} bytes at offset ${this.#offset}`;
      throw objectTooLarge(what, this.#maxFrameBytes);
    }
    this.#inHeader = false;
    this.#need = length;
  }
}
