import { describe, expect, test } from '@jest/globals';
import { WrapperError } from '../../../src/errors.ts';
import type { Codec, ObjectBytes, RawEvent } from '../../../src/filter/codec/codec.ts';
import { ENDPOINT_SLICES, ENDPOINTS, SERVICES } from '../../../src/filter/codec/resource.ts';
import {
  CODECS,
  chunked,
  decodeAll,
  decodeInto,
  fixture,
  LISTS,
  objectsOf,
  STATUSES,
  WATCHES,
} from '../../support/codec/codec-fixtures.ts';
import { semanticBytes } from '../../support/codec/semantic-bytes.ts';
import { propertyRuns } from '../../support/property-runs.ts';

/** `result`, the code of a `WrapperError`, or any other error, which must not occur. */
function outcome(action: () => unknown): string {
  try {
    action();
    return 'result';
  } catch (error) {
    return nameOf(error);
  }
}

async function asyncOutcome(action: () => Promise<unknown>): Promise<string> {
  try {
    await action();
    return 'result';
  } catch (error) {
    return nameOf(error);
  }
}

function nameOf(error: unknown): string {
  return error instanceof WrapperError ? error.code : `unexpected ${String(error)}`;
}

/** The allowed outcomes for damaged bytes. */
const ALLOWED = new Set(['result', 'Malformed', 'Refused', 'TooLarge']);

function unexpected(outcomes: Iterable<string>): string[] {
  return [...new Set(outcomes)].filter((each) => !ALLOWED.has(each));
}

/** Every function that reads or edits an object. */
function readings(codec: Codec, object: ObjectBytes): (() => unknown)[] {
  const edit = { resourceVersion: '7', keep: Uint8Array.of(1, 0, 1, 0), cutHints: true };
  return [
    () => codec.meta(object),
    () => codec.partialMetadata(object),
    () => codec.service(object),
    () => codec.endpointSlice(object),
    () => codec.endpoints(object),
    () => codec.edit(ENDPOINT_SLICES, object, edit),
    () => codec.edit(ENDPOINTS, object, edit),
    () => codec.edit(SERVICES, object, edit),
    () => semanticBytes(codec, object),
    () => codec.encodeObject(SERVICES, object),
    () => codec.encodeEvent(SERVICES, 'ADDED', object),
  ];
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
      const outcomes = truncations(bytes).map((end) =>
        outcome(() => codec.decodeList([bytes.subarray(0, end)])),
      );
      expect(unexpected(outcomes)).toEqual([]);
      // Only the tail of the envelope, two empty texts or a newline, may be missing.
      expect(new Set(outcomes.slice(0, -4))).toEqual(new Set(['Malformed']));
    },
  );

  test.each(WATCHES)('of a frame of $file is Malformed', async ({ codec, bytes }) => {
    const [first] = await decodeAll(codec, chunked(bytes, []));
    const type = first?.type ?? '';
    const frame = bytes.subarray(0, frameLength(codec, bytes));
    const ends = Array.from(frame, (_, end) => end).slice(1);
    const outcomes = await Promise.all(
      ends.map((end) =>
        asyncOutcome(() => decodeAll(codec, chunked(frame.subarray(0, end), [end >> 1]))),
      ),
    );
    expect(type).toMatch(/^(ADDED|MODIFIED)$/);
    expect(new Set(outcomes)).toEqual(new Set(['Malformed']));
  });

  test.each(LISTS)('of an object of $file gives a result or is Malformed', async (list) => {
    // This slice has hints, all kinds of conditions and an endpoint without a node.
    const [object = Buffer.alloc(0)] = (await objectsOf(list)).slice(-6);
    const outcomes = new Set<string>();
    for (const end of truncations(object)) {
      for (const reading of readings(list.codec, object.subarray(0, end))) {
        outcomes.add(outcome(reading));
      }
    }
    expect(unexpected(outcomes)).toEqual([]);
    expect(outcomes).toContain('Malformed');
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
  /** A stream that records how many of its chunks were read. */
  async function* counted(chunks: Buffer[], taken: number[]): AsyncGenerator<Buffer> {
    for (const [index, chunk] of chunks.entries()) {
      taken.push(index);
      yield chunk;
    }
  }

  test('is TooLarge because of its length prefix, before any of it has arrived (protobuf)', async () => {
    const { codec } = fixture('services.watch.pb');
    const taken: number[] = [];
    const chunks = counted([Buffer.from('7fffffff', 'hex'), Buffer.from('0a')], taken);
    await expect(decodeAll(codec, chunks, 1_000)).rejects.toMatchObject({ code: 'TooLarge' });
    expect(taken).toEqual([0]);
  });

  test('is TooLarge as soon as more than that has arrived (json)', async () => {
    const { codec } = fixture('services.watch.json');
    const taken: number[] = [];
    const chunks = counted(Array<Buffer>(100).fill(Buffer.alloc(300, ' ')), taken);
    await expect(decodeAll(codec, chunks, 1_000)).rejects.toMatchObject({ code: 'TooLarge' });
    expect(taken).toEqual([0, 1, 2, 3]);
  });

  test.each(WATCHES)('is one byte longer than one that passes: $file', async ({ codec, bytes }) => {
    const first = frameLength(codec, bytes);
    const content = codec.encoding === 'json' ? first - 1 : first - 4;
    const frame = bytes.subarray(0, first);
    expect(await decodeAll(codec, chunked(frame, [7]), content)).toHaveLength(1);
    await expect(decodeAll(codec, chunked(frame, [7]), content - 1)).rejects.toMatchObject({
      code: 'TooLarge',
    });
    await expect(decodeAll(codec, chunked(frame, []), content - 1)).rejects.toMatchObject({
      code: 'TooLarge',
    });
  });
});

/** Length of the first frame of a stream, with its header or newline. */
function frameLength(codec: Codec, bytes: Buffer): number {
  return codec.encoding === 'json' ? bytes.indexOf('\n') + 1 : 4 + bytes.readUInt32BE();
}
