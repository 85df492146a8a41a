import { WrapperError } from '../../../errors.ts';
import { malformed } from '../malformed.ts';
import type { FrameHandler, FrameSplitter } from '../watch-decoder.ts';

const NEWLINE = 0x0a;

/** Creates a splitter of a JSON watch stream into lines. A newline within a JSON string is always escaped. */
export function createLineSplitter(maxFrameBytes: number): FrameSplitter {
  return new NewlineSplitter(maxFrameBytes);
}

class NewlineSplitter implements FrameSplitter {
  readonly #maxFrameBytes: number;
  /** The chunks received of the current line, and their total length. */
  #parts: Buffer[] = [];
  #have = 0;
  /** Offset of that line in the stream. */
  #offset = 0;

  constructor(maxFrameBytes: number) {
    this.#maxFrameBytes = maxFrameBytes;
  }

  push(chunk: Buffer, onFrame: FrameHandler): void {
    let position = 0;
    for (;;) {
      const newline = chunk.indexOf(NEWLINE, position);
      const end = newline < 0 ? chunk.length : newline;
      this.#assertSize(this.#have + end - position);
      if (newline < 0) break;
      const line = this.#complete(chunk.subarray(position, end));
      position = end + 1;
      const start = this.#offset;
      this.#offset += line.length + 1;
      onFrame(line, start);
    }
    if (position < chunk.length) {
      this.#parts.push(chunk.subarray(position));
      this.#have += chunk.length - position;
    }
  }

  finish(): void {
    const rest = Buffer.concat(this.#parts).toString('latin1').trim();
    if (rest !== '') {
      throw malformed('watch stream ends within an event', this.#offset + this.#have);
    }
  }

  #complete(last: Buffer): Buffer {
    if (this.#have === 0) return last;
    const line = Buffer.concat([...this.#parts, last], this.#have + last.length);
    this.#parts = [];
    this.#have = 0;
    return line;
  }

  #assertSize(bytes: number): void {
    if (bytes > this.#maxFrameBytes) {
      throw new WrapperError(
        'TooLarge',
        `watch event of at least ${bytes} bytes at offset ${this.#offset}: the limit is ${this.#maxFrameBytes}`,
      );
    }
  }
}
