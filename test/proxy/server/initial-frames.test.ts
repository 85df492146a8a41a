import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ENDPOINT_SLICES } from '../../../src/filter/codec/facts/resource.ts';
import { JsonCodec } from '../../../src/filter/codec/json/json-codec.ts';
import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { View } from '../../../src/filter/view/view.ts';
import { InitialFrames } from '../../../src/proxy/server/initial-frames.ts';
import { propertyRuns } from '../../support/property-runs.ts';

/** A write of fewer bytes returns true, although it may still be in progress. */
const HIGH_WATER_MARK = 64 * 1024;

describe.each([new ProtobufCodec(), new JsonCodec()])('InitialFrames, $encoding', (codec) => {
  const view = new View({
    resource: ENDPOINT_SLICES,
    codec,
    versions: new VersionAllocator(0),
    window: { entries: 10, bytes: 10 },
  });
  const object = (bytes: number, index: number) =>
    Buffer.from(`{"i":"${String(index).padEnd(bytes, String(index % 10))}"}`);

  test('returns the frame of each object in order, and does not overwrite the bytes of a write in progress', () => {
    const sizes = fc.oneof(
      fc.integer({ min: 1, max: 3_000 }),
      fc.integer({ min: 1, max: 90_000 }),
      fc.integer({ min: 200_000, max: 300_000 }),
    );
    fc.assert(
      fc.property(fc.array(sizes, { minLength: 1, maxLength: 30 }), (lengths) => {
        const items = lengths.map(object);
        const frames = new InitialFrames(view, items);
        const written: Buffer[] = [];
        while (!frames.done) {
          // Each batch has an object at least. A batch that has none would repeat without an end.
          expect(written.length).toBeLessThan(items.length);
          const batch = frames.next();
          written.push(batch.length < HIGH_WATER_MARK ? batch : Buffer.from(batch));
        }
        const expected = items.map((item) =>
          Buffer.concat(codec.encodeEvent(ENDPOINT_SLICES, 'ADDED', item)),
        );
        expect(Buffer.concat(written).equals(Buffer.concat(expected))).toBe(true);
      }),
      { numRuns: propertyRuns(60) },
    );
  });
});
