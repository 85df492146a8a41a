import { describe, expect, test } from '@jest/globals';
import { ENDPOINT_SLICES } from '../../../src/filter/codec/facts/resource.ts';
import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import { EventFrames } from '../../../src/filter/view/event-frames.ts';
import { EventLog } from '../../../src/filter/view/event-log.ts';

const codec = new ProtobufCodec();

function setUp() {
  const log = new EventLog(0n, () => ({ entries: 1000, bytes: 100_000_000 }));
  let version = 0n;
  const append = (object: Buffer) => log.append({ version: ++version, type: 'MODIFIED', object });
  return { log, append, frames: new EventFrames(codec, ENDPOINT_SLICES, log) };
}

function frameOf(object: Buffer): Buffer {
  return Buffer.concat(codec.encodeEvent(ENDPOINT_SLICES, 'MODIFIED', object));
}

describe('EventFrames', () => {
  const [a, b, c] = [Buffer.from('aa'), Buffer.from('bbb'), Buffer.from('c')] as const;

  test('watchers at the same position get the same bytes, encoded once', () => {
    const { append, frames } = setUp();
    append(a);
    append(b);
    const first = frames.from(0);
    expect(first?.bytes).toEqual(Buffer.concat([frameOf(a), frameOf(b)]));
    expect(first?.next).toBe(2);
    expect(frames.from(0)?.bytes).toBe(first?.bytes);
  });

  test('a watcher that reaches a position later also gets the entries appended meanwhile', () => {
    const { append, frames } = setUp();
    expect(frames.from(0)).toBeUndefined();
    append(a);
    expect(frames.from(0)?.next).toBe(1);
    expect(frames.from(1)).toBeUndefined();
    append(b);
    expect(frames.from(0)).toMatchObject({ next: 2 });
    expect(frames.from(1)?.bytes).toEqual(frameOf(b));
    append(c);
    expect(frames.from(1)?.bytes).toEqual(Buffer.concat([frameOf(b), frameOf(c)]));
  });

  test('many entries are encoded in several batches', () => {
    const { append, frames } = setUp();
    const large = Buffer.alloc(100_000, 1);
    for (let i = 0; i < 7; i++) append(large);
    let [position, batches] = [0, 0];
    for (let batch = frames.from(0); batch !== undefined; batch = frames.from(position)) {
      expect(batch.bytes.length).toBeLessThan(256 * 1024 + 101_000);
      position = batch.next;
      batches++;
    }
    expect([position, batches]).toEqual([7, 3]);
  });
});
