import { asBuffer } from './as-buffer.ts';
import type { RawEvent, WatchDecoder } from './codec.ts';

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
        splitter.push(asBuffer(chunk), (frame, offset) => {
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
