import { WrapperError } from '../../../errors.ts';
import { malformed } from '../malformed.ts';
import type { FrameHandler, FrameSplitter } from '../watch-decoder.ts';

/** Each frame begins with its length as a big-endian uint32 (apimachinery util/framer). */
const HEADER_BYTES = 4;

/** Creates a splitter of a protobuf watch stream into frames without their headers. */
export function createFrameSplitter(maxFrameBytes: number): FrameSplitter {
  return new LengthPrefixedSplitter(maxFrameBytes);
}

class LengthPrefixedSplitter implements FrameSplitter {
  readonly #maxFrameBytes: number;
  /** The chunks received of the current header or frame, and their total length. */
  #parts: Buffer[] = [];
  #have = 0;
  #need = HEADER_BYTES;
  #inHeader = true;
  /** Offset of the current header or frame in the stream. */
  #offset = 0;

  constructor(maxFrameBytes: number) {
    this.#maxFrameBytes = maxFrameBytes;
  }

  push(chunk: Buffer, onFrame: FrameHandler): void {
    let position = 0;
    while (chunk.length - position >= this.#need - this.#have) {
      const end = position + this.#need - this.#have;
      const bytes = this.#complete(chunk.subarray(position, end));
      position = end;
      if (this.#inHeader) {
        this.#beginFrame(bytes.readUInt32BE());
      } else {
        this.#inHeader = true;
        this.#need = HEADER_BYTES;
        onFrame(bytes, this.#offset - bytes.length);
      }
    }
    if (position < chunk.length) {
      this.#parts.push(chunk.subarray(position));
      this.#have += chunk.length - position;
    }
  }

  finish(): void {
    if (this.#have > 0 || !this.#inHeader) {
      throw malformed('watch stream ends within a frame', this.#offset + this.#have);
    }
  }

  #complete(last: Buffer): Buffer {
    this.#offset += this.#need;
    if (this.#have === 0) return last;
    const bytes = Buffer.concat([...this.#parts, last], this.#need);
    this.#parts = [];
    this.#have = 0;
    return bytes;
  }

  #beginFrame(length: number): void {
    if (length > this.#maxFrameBytes) {
      throw new WrapperError(
        'TooLarge',
        `watch event of ${length} bytes at offset ${this.#offset}: the limit is ${this.#maxFrameBytes}`,
      );
    }
    this.#inHeader = false;
    this.#need = length;
  }
}
