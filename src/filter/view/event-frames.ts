import type { Codec } from '../codec/codec.ts';
import type { Resource } from '../codec/resource.ts';
import type { EventLog } from './event-log.ts';

/** Frames of consecutive entries of a log, to be written as they are. */
export interface FrameBatch {
  readonly bytes: Buffer;
  /** Position after the last entry. */
  readonly next: number;
}

/** A batch ends with the frame that reaches this size. */
const BATCH_BYTES = 256 * 1024;

/**
 * Encodes the entries of a log for its watchers. Most of them follow at the same position, so that the last
 * batch is remembered: 50 watchers cost one encoding.
 */
export class EventFrames {
  readonly #codec: Codec;
  readonly #resource: Resource;
  readonly #log: EventLog;
  #last: (FrameBatch & { readonly position: number; readonly end: number }) | undefined;

  constructor(codec: Codec, resource: Resource, log: EventLog) {
    this.#codec = codec;
    this.#resource = resource;
    this.#log = log;
  }

  /** Forgets the last batch. */
  clear(): void {
    this.#last = undefined;
  }

  /** The frames from a position on, which the log must hold; undefined when there is nothing yet. */
  from(position: number): FrameBatch | undefined {
    const { end } = this.#log;
    const last = this.#last;
    // What was the end then may not be it now, and a batch should take in all there is.
    if (last !== undefined && last.position === position && last.end === end) return last;
    const frames: Buffer[] = [];
    let bytes = 0;
    let next = position;
    while (bytes < BATCH_BYTES) {
      const entry = this.#log.at(next);
      if (entry === undefined) break;
      const frame = this.#codec.encodeEvent(this.#resource, entry.type, entry.object);
      frames.push(frame);
      bytes += frame.length;
      next++;
    }
    const [only] = frames;
    if (only === undefined) return undefined;
    const batch = { bytes: frames.length === 1 ? only : Buffer.concat(frames, bytes), next };
    this.#last = { ...batch, position, end };
    return batch;
  }
}
