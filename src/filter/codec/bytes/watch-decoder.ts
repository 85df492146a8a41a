import type { Status } from '../../../errors.ts';
import type { ObjectBytes, RawEvent, WatchDecoder } from '../codec.ts';
import { malformed } from './malformed.ts';

/** Called with each complete frame and its offset in the stream. */
export type FrameHandler = (frame: Buffer, offset: number) => void;

/** Splits a stream into frames. A chunk may end anywhere in a frame. */
export interface FrameSplitter {
  /** Reads the next chunk and calls `onFrame` for each frame that it completes. */
  push(chunk: Buffer, onFrame: FrameHandler): void;
  /** Throws `Malformed` when the stream ends within a frame. */
  finish(): void;
}

/**
 * Creates a decoder of a stream of frames.
 *
 * @param decode returns undefined for a frame without an event
 */
export function createWatchDecoder(
  splitter: FrameSplitter,
  decode: (frame: Buffer, offset: number) => RawEvent | undefined,
): WatchDecoder {
  return {
    push: (chunk) => {
      const events: RawEvent[] = [];
      try {
        splitter.push(chunk, (frame, offset) => {
          const event = decode(frame, offset);
          if (event !== undefined) events.push(event);
        });
        return { events, fault: undefined };
      } catch (fault) {
        return { events, fault };
      }
    },
    finish: () => splitter.finish(),
  };
}

/**
 * A decoded event.
 *
 * @param status the object as a Status, if it is one
 * @param base offset in the stream, for errors
 */
export function toEvent(
  type: string,
  object: ObjectBytes,
  status: Status | undefined,
  base: number,
): RawEvent {
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK':
      return { type, object };
    case 'ERROR':
      if (status === undefined) throw malformed('an ERROR event without a Status', base);
      return { type, status };
    default:
      throw malformed(`a watch event of unknown type '${type}'`, base);
  }
}
