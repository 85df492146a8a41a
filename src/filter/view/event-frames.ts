import type { Codec } from '../codec/codec.ts';
import type { Resource } from '../codec/facts/resource.ts';
import type { EventLog } from './event-log.ts';

/** Frames of consecutive entries of a log, encoded for a watch stream. */
export interface FrameBatch {
  readonly bytes: Buffer;
  /** Position after the last entry. */
  readonly next: number;
}

/** A batch ends with the frame that reaches this size. */
const MAX_BATCH_BYTES = 256 * 1024;

/**
 * Encodes the entries of a log for its watchers. Most watchers are at the same position, so the last batch is cached:
 * 50 watchers cost one encoding.
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

  /** Releases the cached batch. */
  clear(): void {
    this.#last = undefined;
  }

  /** The frames from a position in the window on; undefined at the end of the log. */
  from(position: number): FrameBatch | undefined {
    const { end } = this.#log;
    const last = this.#last;
    // A batch that was encoded before the log grew does not contain the newest entries.
    if (last !== undefined && last.position === position && last.end === end) return last;
    const buffers: Buffer[] = [];
    let bytes = 0;
    let next = position;
    while (bytes < MAX_BATCH_BYTES) {
      const entry = this.#log.at(next);
      if (entry === undefined) break;
      for (const buffer of this.#codec.encodeEvent(this.#resource, entry.type, entry.object)) {
        buffers.push(buffer);
        bytes += buffer.length;
      }
      next++;
    }
    if (next === position) return undefined;
    const batch = { bytes: Buffer.concat(buffers, bytes), next };
    this.#last = { ...batch, position, end };
    return batch;
  }
}
