import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CODECS } from '../../../src/client/api/codecs.ts';
import type { Encoding, RawEvent } from '../../../src/filter/codec/codec.ts';
import { SERVICES } from '../../../src/filter/objects/resource.ts';
import { parseUpstreamVersion } from '../../../src/filter/view/version-allocator.ts';
import { propertyRuns } from '../../support/property-runs.ts';

/*
 * Something else than the API server writes into a watch. 64 zero bytes in place of events were noticed in JSON only
 * when the next line ended, up to a minute later. The reader ends an event that does not go on after 10 s, so what
 * cannot be told from its bytes must leave the decoder within an event.
 */
const MAX_FRAME_BYTES = 1024 * 1024;
/** An event of protobuf is checked from its first 32 bytes on, and has a header of 4. */
const NOTICED_BYTES = 36;

const ENCODINGS: readonly Encoding[] = ['json', 'protobuf'];

const bookmarks = (encoding: Encoding, count: number): Buffer[] =>
  Array.from({ length: count }, (_, n) =>
    CODECS[encoding].encodeBookmark(SERVICES, String(100 + n), false),
  );

/** Pushes bytes in chunks that end at these places. Returns what is decoded before a fault, and whether one came. */
function decode(encoding: Encoding, bytes: Buffer, cuts: readonly number[]) {
  const decoder = CODECS[encoding].watchDecoder(MAX_FRAME_BYTES);
  const versions: string[] = [];
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
  let start = 0;
  for (const end of ends.sort((a, b) => a - b)) {
    const decoded = decoder.push(bytes.subarray(start, end));
    for (const event of decoded.events) {
      const version = versionOf(encoding, event);
      if (version === undefined) return { versions, isNoticed: true, isWithinEvent: true };
      versions.push(version);
    }
    if (decoded.fault !== undefined) return { versions, isNoticed: true, isWithinEvent: true };
    start = end;
  }
  return { versions, isNoticed: false, isWithinEvent: decoder.isWithinEvent };
}

/** Undefined: the object does not parse, which its reader notices. */
function versionOf(encoding: Encoding, event: RawEvent): string | undefined {
  if (event.type === 'ERROR') return 'ERROR';
  try {
    const { resourceVersion } = CODECS[encoding].meta(event.object);
    return parseUpstreamVersion(resourceVersion) === undefined ? undefined : resourceVersion;
  } catch {
    return undefined;
  }
}

const versionsOf = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => String(100 + n));

const page = Buffer.from('<!doctype html><html><head><title>Sign in</title></head></html>');
/** It looks like the header of an event of protobuf; nothing in it begins an event. */
const withLength = fc
  .tuple(
    fc.integer({ min: NOTICED_BYTES, max: MAX_FRAME_BYTES }),
    fc.uint8Array({ minLength: NOTICED_BYTES, maxLength: 200, size: 'max' }),
  )
  .map(([length, bytes]) => {
    const header = Buffer.alloc(4);
    header.writeUInt32BE(length);
    return Buffer.concat([header, Buffer.from(bytes).fill('x', 0, 1)]);
  });
const foreign = fc.oneof(
  fc.integer({ min: NOTICED_BYTES, max: 200 }).map((length) => Buffer.alloc(length)),
  fc.constant(page),
  fc.constant(Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\n'), page])),
  fc
    .uint8Array({ minLength: NOTICED_BYTES, maxLength: 200, size: 'max' })
    .map((bytes) => Buffer.from(bytes)),
  withLength,
);
const cuts = fc.array(fc.nat(5_000), { maxLength: 12, size: 'max' });

describe.each(ENCODINGS)('foreign bytes in a watch of %s', (encoding) => {
  test('between events are noticed from their first bytes on, however they are cut, and nothing is made of them', () => {
    fc.assert(
      fc.property(fc.nat(3), foreign, cuts, (count, bytes, places) => {
        fc.pre(!bytes.every((byte) => byte <= 0x20 && byte >= 9));
        const before = bookmarks(encoding, count);
        const found = decode(encoding, Buffer.concat([...before, bytes]), places);
        expect(found.versions).toEqual(versionsOf(count));
        const isSure = encoding === 'protobuf' || bytes[0] !== 0x7b;
        expect(found).toMatchObject(isSure ? { isNoticed: true } : { isWithinEvent: true });
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  test('in place of the rest of an event never lead to an event that was not sent', () => {
    fc.assert(
      fc.property(fc.nat(3), fc.nat(10_000), foreign, cuts, (count, at, bytes, places) => {
        const before = bookmarks(encoding, count);
        const [last = Buffer.alloc(0)] = bookmarks(encoding, 1);
        const broken = last.subarray(0, 1 + (at % (last.length - 2)));
        const after = bookmarks(encoding, 1);
        const stream = Buffer.concat([...before, broken, bytes, ...after]);
        const found = decode(encoding, stream, places);
        // In protobuf, what is replaced may be no more than unknown fields at its end.
        const isWhole = found.versions.length > count;
        expect(found.versions).toEqual([...versionsOf(count), ...(isWhole ? ['100'] : [])]);
        expect(found.isWithinEvent).toBe(true);
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  test('are not seen in what an API server sends, however it is cut', () => {
    fc.assert(
      fc.property(fc.nat(5), cuts, (count, places) => {
        const events = bookmarks(encoding, count);
        const found = decode(encoding, Buffer.concat(events), places);
        expect(found).toMatchObject({ isNoticed: false, isWithinEvent: false });
        expect(found.versions).toEqual(versionsOf(count));
      }),
      { numRuns: propertyRuns(200) },
    );
  });
});

test.each([
  ['zeros within a line', '{"type":"ADDED","object":{"metadata":\0\0\0'],
  ['text in place of a line', '  x'],
])('%s are noticed before the line ends', (_, text) => {
  expect(decode('json', Buffer.from(text), [])).toMatchObject({ isNoticed: true });
});
