import { malformed, objectTooLarge } from './malformed.ts';
import { PartialFrame } from './partial-frame.ts';
import type { FrameHandler, FrameSplitter } from './watch-decoder.ts';

const NEWLINE = 0x0a;

/** Splits a JSON watch stream into lines. A newline within a JSON string is always escaped. */
export class LineSplitter implements FrameSplitter {
  readonly #maxFrameBytes: number;
  /** The current line. */
  readonly #partial = new PartialFrame();
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
      this.#assertSize(this.#partial.length + end - position);
      if (newline < 0) break;
      const line = this.#partial.complete(chunk.subarray(position, end));
      position = end + 1;
      const start = this.#offset;
      this.#offset += line.length + 1;
      onFrame(line, start);
    }
    this.#partial.add(chunk.subarray(position));
  }

  finish(): void {
    const end = this.#offset + this.#partial.length;
    const rest = this.#partial.complete(Buffer.alloc(0)).toString('latin1').trim();
    if (rest !== '') throw malformed('watch stream ends within an event', end);
  }

  #assertSize(bytes: number): void {
    if (bytes > this.#maxFrameBytes) {
      const what = `a watch event of at least ${bytes} bytes at offset ${this.#offset}`;
      throw objectTooLarge(what, this.#maxFrameBytes);
    }
  }
}
