import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  decodeSnapshot,
  encodeSnapshot,
  SNAPSHOT_VERSION,
  type SnapshotHeader,
  snapshotBytes,
  Untrusted,
} from '../../../src/client/snapshot/snapshot-format.ts';

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

type Damage = (file: Buffer, other: Buffer) => Buffer;
const damage: fc.Arbitrary<Damage> = fc
  .tuple(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 255 }))
  .chain(([to, from, flip]) => {
    const start = (file: Buffer) => file.subarray(0, to % file.length);
    const end = (file: Buffer) => file.subarray(from % file.length);
    return fc.constantFrom<Damage>(
      start,
      (file, other) => Buffer.concat([start(file), end(other)]),
      (file, other) => Buffer.concat([file, end(other)]),
      (file) => {
        const changed = Buffer.from(file);
        const index = to % file.length;
        changed[index] = (changed[index] ?? 0) ^ flip;
        return changed;
      },
    );
  });

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
        expect(decodeSnapshot(file)).toEqual({ header, objects });
      }),
    );
  });

  test('is the same as in 1.0.0, so that each version starts with the files of the other', () => {
    const objects = [Buffer.from('one'), Buffer.from('another')];
    expect(decodeSnapshot(FILE_OF_1_0)).toEqual({
      header: headerFor(objects),
      objects,
    });
    expect(fileOf(objects)).toEqual(FILE_OF_1_0);
  });

  test('is made in chunks of about a megabyte', () => {
    const objects = Array.from({ length: 500 }, (_, n) => Buffer.alloc(10_000, n));
    const chunks = [...encodeSnapshot(headerFor(objects), objects)];
    expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThan(1_100_000);
  });

  test('that is cut, changed, continued or mixed with another one, anywhere, is never whole', () => {
    fc.assert(
      fc.property(anyObjects, anyObjects, damage, (objects, others, spoil) => {
        const [file, other] = [fileOf(objects), fileOf(others)];
        const spoilt = spoil(file, other);
        if (spoilt.equals(file) || spoilt.equals(other)) return;
        expect(() => decodeSnapshot(spoilt)).toThrow(Untrusted);
      }),
      { numRuns: 1_000 },
    );
  });

  test('of a newer version is reported as newer, whatever else is in it', () => {
    const file = fileOf([Buffer.from('x')]);
    file.writeUInt32BE(SNAPSHOT_VERSION + 1, VERSION_OFFSET);
    expect(() => decodeSnapshot(file)).toThrow('version 2');
    expect(() => decodeSnapshot(file)).toThrow(expect.objectContaining({ kind: 'newer' }));
  });
});
