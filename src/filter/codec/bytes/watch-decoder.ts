import type { Status } from '../../../errors.ts';
import { concat } from './buffer-list.ts';
import { malformed } from './malformed.ts';
import type { ObjectBytes, RawEvent } from './raw-objects.ts';

/** What a chunk of a watch stream completes. */
export interface DecodedChunk {
  readonly events: RawEvent[];
  /**
   * Why the stream cannot be read beyond these events: `TooLarge` for a frame, `Malformed` for bytes that do not
   * parse or an event of unknown type. The events before the fault are still valid. So the events that a consumer
   * gets do not depend on how the network cut the chunks.
   */
  readonly fault: unknown;
}

/** Decodes one watch stream, which is a sequence of frames. Do not use it after a fault. */
export abstract class WatchDecoder {
  /** What has been received of the current frame. */
  #chunks: Buffer[] = [];
  #received = 0;
  /** Offset of the current frame in the stream. */
  #offset = 0;

  /** Takes the next chunk, which may be cut anywhere. */
  push(chunk: Buffer): DecodedChunk {
    const events: RawEvent[] = [];
    try {
      let start = 0;
      for (;;) {
        const length = this.frameLength(chunk.subarray(start), this.#received, this.#offset);
        if (length === undefined) break;
        const frame = this.#complete(chunk.subarray(start, start + length));
        start += length;
        const event = this.decode(frame, this.#offset);
        this.#offset += frame.length;
        if (event !== undefined) events.push(event);
      }
      // An empty rest would keep the chunk alive.
      if (start < chunk.length) this.#chunks.push(chunk.subarray(start));
      this.#received += chunk.length - start;
      return { events, fault: undefined };
    } catch (fault) {
      return { events, fault };
    }
  }

  /** Whether an event has begun to arrive, and has not ended. */
  get isWithinEvent(): boolean {
    return this.hasBegun(this.#received);
  }

  /** Throws `Malformed` when the stream ends within a frame. */
  finish(): void {
    if (!this.isWithinEvent) return;
    throw malformed('watch stream ends within an event', this.#offset + this.#received);
  }

  /**
   * How many of these bytes belong to the current frame; undefined: all, and more that have not arrived. Throws
   * `TooLarge`, and `Malformed` for bytes that cannot be of an event, if possible before the frame is complete: the
   * rest of what is not an event may never come.
   *
   * @param received number of bytes of the frame that have arrived before
   * @param offset of the frame in the stream
   */
  protected abstract frameLength(
    bytes: Buffer,
    received: number,
    offset: number,
  ): number | undefined;

  /** Decodes a frame; undefined: it has no event. */
  protected abstract decode(frame: Buffer, offset: number): RawEvent | undefined;

  /** Whether an event has begun. @param received number of bytes of the current frame that have arrived */
  protected abstract hasBegun(received: number): boolean;

  /** Returns the frame that ends with `last`. A frame within one chunk is not copied. */
  #complete(last: Buffer): Buffer {
    const frame = this.#received === 0 ? last : concat([...this.#chunks, last]);
    this.#chunks = [];
    this.#received = 0;
    return frame;
  }
}

/**
 * A decoded event.
 *
 * @param status the object as a Status, if it is one
 * @param offset in the stream, for errors
 */
export function toEvent(
  type: string,
  object: ObjectBytes,
  status: Status | undefined,
  offset: number,
): RawEvent {
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK':
      return { type, object };
    case 'ERROR':
      if (status === undefined) throw malformed('an ERROR event without a Status', offset);
      return { type, status };
    default:
      throw malformed(`a watch event of unknown type '${type}'`, offset);
  }
}
