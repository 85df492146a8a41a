import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  decodeSnapshot,
  encodeSnapshot,
  SNAPSHOT_VERSION,
  type SnapshotHeader,
  snapshotBytes,
} from '../../../src/proxy/snapshot/snapshot-format.ts';

function headerFor(objects: readonly Buffer[], node = 'edge-1'): SnapshotHeader {
  return {
    node,
    servers: ['https://10.0.0.1:6443'],
    authorities: ['AA:BB'],
    question: 'protobuf /api/v1/services',
    resourceVersion: '123',
    savedAt: 1_700_000_000_000,
    objects: objects.length,
    bytes: objects.reduce((sum, { length }) => sum + length, 0),
  };
}

function fileOf(objects: readonly Buffer[], node?: string): Buffer {
  return Buffer.concat([...encodeSnapshot(headerFor(objects, node), objects)]);
}

const anyObjects = fc.array(fc.uint8Array({ maxLength: 200 }).map(Buffer.from), { maxLength: 20 });
const VERSION_OFFSET = 8;

/** Written by 1.0.0. Its objects are "one" and "another". */
const FILE_OF_1_0 = Buffer.from(
  'KPWSNAP\x00\x00\x00\x00\x01\x00\x00\x00\xbb{"node":"edge-1","servers":["https://10.0.0.1:6443"],' +
    '"authorities":["AA:BB"],"question":"protobuf /api/v1/services","resourceVersion":"123",' +
    '"savedAt":1700000000000,"objects":2,"bytes":10}\xcf\x99=W\x00\x00\x00\x03one\x00\x00\x00\x07another\xe2K\xb1B',
  'latin1',
);

describe('a snapshot file', () => {
  test('returns what was written, byte for byte, and has the calculated size', () => {
    fc.assert(
      fc.property(anyObjects, fc.string(), (objects, node) => {
        const file = fileOf(objects, node);
        expect(file).toHaveLength(snapshotBytes(headerFor(objects, node)));
        const header = headerFor(objects, node);
        expect(decodeSnapshot(file)).toEqual({ kind: 'whole', header, objects });
      }),
    );
  });

  test('is the same as in 1.0.0, so that each version starts with the files of the other', () => {
    const objects = [Buffer.from('one'), Buffer.from('another')];
    expect(decodeSnapshot(FILE_OF_1_0)).toEqual({
      kind: 'whole',
      header: headerFor(objects),
      objects,
    });
    expect(fileOf(objects)).toEqual(FILE_OF_1_0);
  });

  test('is made in chunks of about a megabyte', () => {
    const objects = Array.from({ length: 500 }, (_, n) => Buffer.alloc(10_000, n));
    const buffers = [...encodeSnapshot(headerFor(objects), objects)];
    expect(buffers.length).toBeGreaterThan(4);
    expect(Math.max(...buffers.map(({ length }) => length))).toBeLessThan(1_100_000);
    const decoded = decodeSnapshot(Buffer.concat(buffers));
    const read = decoded.kind === 'whole' ? Buffer.concat(decoded.objects) : undefined;
    // jest would compare five million numbers.
    expect(read?.equals(Buffer.concat(objects))).toBe(true);
  });

  test('that lacks its end is torn, wherever it was cut', () => {
    fc.assert(
      fc.property(anyObjects, fc.nat(), (objects, at) => {
        const file = fileOf(objects);
        expect(decodeSnapshot(file.subarray(0, at % file.length)).kind).toBe('torn');
      }),
      { numRuns: 300 },
    );
  });

  test('with a byte changed, anywhere, is never whole', () => {
    fc.assert(
      fc.property(anyObjects, fc.nat(), fc.integer({ min: 1, max: 255 }), (objects, at, flip) => {
        const file = fileOf(objects);
        const index = at % file.length;
        file[index] = (file[index] ?? 0) ^ flip;
        const { kind } = decodeSnapshot(file);
        // Most changes in the version make it a newer version, which is set aside too.
        const inVersion = index >= VERSION_OFFSET && index < VERSION_OFFSET + 4;
        if (!inVersion || kind !== 'newer') expect(kind).toBe('torn');
      }),
      { numRuns: 400 },
    );
  });

  test('with a part of another one in it, or anything after its end, is never whole', () => {
    fc.assert(
      fc.property(anyObjects, anyObjects, fc.nat(), fc.nat(), (objects, others, at, from) => {
        const file = fileOf(objects);
        const other = fileOf(others);
        const mixed = Buffer.concat([
          file.subarray(0, at % file.length),
          other.subarray(from % other.length),
        ]);
        if (mixed.equals(file) || mixed.equals(other)) return;
        expect(decodeSnapshot(mixed).kind).not.toBe('whole');
        const longer = Buffer.concat([file, other.subarray(from % other.length)]);
        expect(decodeSnapshot(longer).kind).toBe('torn');
      }),
      { numRuns: 300 },
    );
  });

  test('of a newer version is reported as newer, whatever else is in it', () => {
    const file = fileOf([Buffer.from('x')]);
    file.writeUInt32BE(SNAPSHOT_VERSION + 1, VERSION_OFFSET);
    expect(decodeSnapshot(file)).toMatchObject({
      kind: 'newer',
      problem: expect.stringContaining('version 2'),
    });
  });
});
