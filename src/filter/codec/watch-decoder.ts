import { asBuffer } from './as-buffer.ts';
import type { RawEvent, WatchDecoder } from './codec.ts';

/** Called with each complete frame and its offset in the stream. */
export type FrameHandler = (frame: Buffer, offset: number) => void;

/** Cuts a stream into frames; chunks may be cut anywhere. */
export interface FrameSplitter {
  /** Takes the next chunk and hands out the frames that it completes. */
  push(chunk: Buffer, onFrame: FrameHandler): void;
  /** Throws `Malformed` when the stream ends within a frame. */
  finish(): void;
}

/**
 * Makes a decoder of a stream of frames.
 *
 * @param decode returns undefined for a frame that holds no event
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
