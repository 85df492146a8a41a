import { describe, expect, test } from '@jest/globals';
import { WrapperError } from '../../../src/errors.ts';
import type { Codec, RawEvent } from '../../../src/filter/codec/codec.ts';
import { SERVICES } from '../../../src/filter/objects/resource.ts';
import {
  CODECS,
  chunked,
  codecOf,
  decodeAll,
  decodeInto,
  LISTS,
  STATUSES,
  WATCHES,
} from '../../support/codec/codec-fixtures.ts';
import { propertyRuns } from '../../support/property-runs.ts';

/** Throws unless an action throws `Malformed`; a matcher is too slow for thousands of actions. */
function assertMalformed(action: () => unknown): void {
  let result: unknown;
  try {
    result = action();
  } catch (error) {
    if (error instanceof WrapperError && error.code === 'Malformed') return;
    throw error;
  }
  throw new Error(`not Malformed: ${String(result)}`);
}

/** Where to cut bytes off: at every fifth place and the last ones; with KPW_ALL_RUNS=1 at every place. */
function truncations({ length }: Buffer): number[] {
  const step = 5 / propertyRuns(5);
  const ends = Array.from({ length }, (_, end) => end);
  return ends.filter((end) => end % step === 0 || length - end <= 20);
}

describe('every truncation', () => {
  test.each([...LISTS, ...STATUSES])(
    'of $file is Malformed, or complete without its tail',
    (from) => {
      const { codec, bytes } = from;
      // Only the tail of the envelope, two empty texts or a newline, may be missing.
      for (const end of truncations(bytes).slice(0, -4)) {
        assertMalformed(() => codec.decodeList([bytes.subarray(0, end)]));
      }
    },
  );

  test.each(WATCHES)('of a frame of $file is Malformed', ({ codec, bytes }) => {
    const frame = bytes.subarray(0, frameLength(codec, bytes));
    expect(codec.watchDecoder(frame.length).push(frame).events).toHaveLength(1);
    for (let end = 1; end < frame.length; end++) {
      const decoder = codec.watchDecoder(frame.length);
      assertMalformed(() => {
        const { fault } = decoder.push(frame.subarray(0, end));
        if (fault !== undefined) throw fault;
        decoder.finish();
      });
    }
  });
});

describe('an event of unknown type', () => {
  test.each(CODECS)('is reported after the events before it ($encoding)', async (codec) => {
    const good = codec.encodeBookmark(SERVICES, '1', false);
    const bad = Buffer.from(good.toString('latin1').replace('BOOKMARK', 'BOOKMARX'), 'latin1');
    const events: RawEvent[] = [];
    const chunks = chunked(Buffer.concat([good, good, bad, good]), []);
    await expect(decodeInto(events, codec, chunks, 1_000)).rejects.toThrow(
      "a watch event of unknown type 'BOOKMARX' at offset",
    );
    expect(events.map(({ type }) => type)).toEqual(['BOOKMARK', 'BOOKMARK']);
  });
});

describe('a frame beyond the limit', () => {
  test.each([
    // The length prefix is enough, before any of the frame has arrived.
    ['protobuf', Buffer.from('7fffffff', 'hex'), 1, '2147483647 bytes at offset 4'],
    ['json', Buffer.alloc(300, ' '), 4, 'at least 1200 bytes at offset 0'],
  ] as const)('is TooLarge as early as possible (%s)', (encoding, chunk, chunks, size) => {
    const decoder = codecOf(encoding).watchDecoder(1_000);
    for (let index = 1; index < chunks; index++) expect(decoder.push(chunk).fault).toBeUndefined();
    const message = `a watch event of ${size}; an object may have 1000 bytes`;
    expect(decoder.push(chunk).fault).toMatchObject({ code: 'TooLarge', message });
  });

  test.each(WATCHES)('is one byte longer than one that passes: $file', async ({ codec, bytes }) => {
    const first = frameLength(codec, bytes);
    const content = codec.encoding === 'json' ? first - 1 : first - 4;
    const frame = bytes.subarray(0, first);
    expect(await decodeAll(codec, chunked(frame, [7]), content)).toHaveLength(1);
    const refused = { code: 'TooLarge' };
    for (const ends of [[7], []]) {
      const frames = decodeAll(codec, chunked(frame, ends), content - 1);
      await expect(frames).rejects.toMatchObject(refused);
    }
  });
});

/** Length of the first frame of a stream, with its header or newline. */
function frameLength(codec: Codec, bytes: Buffer): number {
  return codec.encoding === 'json' ? bytes.indexOf('\n') + 1 : 4 + bytes.readUInt32BE();
}
