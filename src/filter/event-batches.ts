import type { RawEvent } from './codec.ts';

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
 * Turns a byte stream into batches of events, one batch for each chunk that completes any. What comes
 * before a fault is yielded before the fault is thrown, so that the events a consumer gets do not depend on
 * how the network cut the chunks.
 *
 * @param decode returns undefined for a frame that holds no event
 */
export async function* eventBatches(
  chunks: AsyncIterable<Uint8Array>,
  splitter: FrameSplitter,
  decode: (frame: Buffer, offset: number) => RawEvent | undefined,
): AsyncGenerator<RawEvent[], void, undefined> {
  for await (const chunk of chunks) {
    const batch: RawEvent[] = [];
    const fault = attempt(() => {
      splitter.push(asBuffer(chunk), (frame, offset) => {
        const event = decode(frame, offset);
        if (event !== undefined) batch.push(event);
      });
    });
    if (batch.length > 0) yield batch;
    if (fault !== undefined) throw fault.error;
  }
  splitter.finish();
}

function attempt(action: () => void): { readonly error: unknown } | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    return { error };
  }
}

function asBuffer(chunk: Uint8Array): Buffer {
  return Buffer.isBuffer(chunk)
    ? chunk
    : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}
