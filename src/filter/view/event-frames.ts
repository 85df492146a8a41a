import type { Codec } from '../codec/codec.ts';
import type { Resource } from '../objects/resource.ts';
import type { EventLog } from './event-log.ts';

/** Frames of consecutive entries of a log, encoded for a watch stream. */
export interface FrameBatch {
  /** One buffer; several that the log has too if it is one large frame. To be written in order. */
  readonly buffers: readonly Buffer[];
  readonly bytes: number;
  /** Position after the last entry. */
  readonly next: number;
}

/**
 * Encodes the entries of a log for its watchers. Most watchers are at the same position, so the last batch is cached:
 * 50 watchers cost one encoding.
 */
export class EventFrames {
  readonly #codec: Codec;
  readonly #resource: Resource;
  readonly #log: EventLog;
  #last:
    | (FrameBatch & { readonly position: number; readonly end: number; readonly mostBytes: number })
    | undefined;

  constructor(codec: Codec, resource: Resource, log: EventLog) {
    this.#codec = codec;
    this.#resource = resource;
    this.#log = log;
  }

  /** Releases the cached batch. */
  clear(): void {
    this.#last = undefined;
  }

  /**
   * The frames from a position in the window on; undefined at the end of the log.
   *
   * @param mostBytes size of a batch of several frames: a client that reads nothing keeps it
   */
  from(position: number, mostBytes: number): FrameBatch | undefined {
    const { end } = this.#log;
    const last = this.#last;
    // A batch that was encoded before the log grew does not contain the newest entries.
    const isCurrent = last?.position === position && last.end === end;
    if (isCurrent && last.mostBytes === mostBytes) return last;
    const buffers: Buffer[] = [];
    let bytes = 0;
    let next = position;
    for (let entry = this.#log.at(next); entry !== undefined; entry = this.#log.at(next)) {
      const frame = this.#codec.encodeEvent(this.#resource, entry.type, entry.object);
      const size = frame.reduce((sum, { length }) => sum + length, 0);
      if (next > position && bytes + size > mostBytes) break;
      for (const buffer of frame) buffers.push(buffer);
      bytes += size;
      next++;
    }
    if (next === position) return undefined;
    const isSmall = bytes <= mostBytes;
    const batch = { buffers: isSmall ? [Buffer.concat(buffers, bytes)] : buffers, bytes, next };
    this.#last = { ...batch, position, end, mostBytes };
    return batch;
  }
}
