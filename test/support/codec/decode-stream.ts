import type { RawEvent, WatchDecoder } from '../../../src/filter/codec/codec.ts';

/** Reads a watch stream to its end. Events before a fault are passed to `onEvents` before the fault is thrown. */
export async function decodeStream(
  decoder: WatchDecoder,
  chunks: AsyncIterable<Buffer>,
  onEvents: (events: RawEvent[]) => void,
): Promise<void> {
  for await (const chunk of chunks) {
    const { events, fault } = decoder.push(chunk);
    onEvents(events);
    if (fault !== undefined) throw fault;
  }
  decoder.finish();
}
