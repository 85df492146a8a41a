import { describe, expect, test } from '@jest/globals';
import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import { ENDPOINT_SLICES } from '../../../src/filter/objects/resource.ts';
import { EventFrames } from '../../../src/filter/view/event-frames.ts';
import { EventLog } from '../../../src/filter/view/event-log.ts';

const codec = new ProtobufCodec();
const MOST = 32 * 1024;

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
    const first = frames.from(0, MOST);
    expect(first?.buffers).toEqual([Buffer.concat([frameOf(a), frameOf(b)])]);
    expect(first?.next).toBe(2);
    expect(frames.from(0, MOST)?.buffers).toBe(first?.buffers);
  });

  test('watchers at the same position that may keep less get less', () => {
    const { append, frames } = setUp();
    for (const size of [20_000, 20_000, 20_000]) append(Buffer.alloc(size));
    expect([MOST, 2 * MOST, MOST].map((most) => frames.from(0, most)?.next)).toEqual([1, 3, 1]);
  });

  test('a watcher that reaches a position later also gets the entries appended meanwhile', () => {
    const { append, frames } = setUp();
    expect(frames.from(0, MOST)).toBeUndefined();
    append(a);
    expect(frames.from(0, MOST)?.next).toBe(1);
    expect(frames.from(1, MOST)).toBeUndefined();
    append(b);
    expect(frames.from(0, MOST)).toMatchObject({ next: 2 });
    expect(frames.from(1, MOST)?.buffers).toEqual([frameOf(b)]);
    append(c);
    expect(frames.from(1, MOST)?.buffers).toEqual([Buffer.concat([frameOf(b), frameOf(c)])]);
  });

  test('a batch has at most the size that its watcher may keep, unless one entry is larger, whose object is not copied', () => {
    const { log, append, frames } = setUp();
    const sizes = [10_000, 10_000, 10_000, 10_000, 100_000, 10_000, 100_000];
    for (const size of sizes) append(Buffer.alloc(size, 1));
    const entries: number[] = [];
    const sent: Buffer[] = [];
    let position = 0;
    for (
      let batch = frames.from(0, MOST);
      batch !== undefined;
      batch = frames.from(position, MOST)
    ) {
      entries.push(batch.next - position);
      expect(batch.bytes).toBe(Buffer.concat(batch.buffers).length);
      const isLarge = batch.bytes > MOST;
      expect(isLarge).toBe(batch.buffers.length > 1);
      if (isLarge) expect(batch.buffers).toContain(log.at(position)?.object);
      sent.push(...batch.buffers);
      position = batch.next;
    }
    expect(entries).toEqual([3, 1, 1, 1, 1]);
    expect(Buffer.concat(sent)).toEqual(
      Buffer.concat(sizes.map((size) => frameOf(Buffer.alloc(size, 1)))),
    );
  });
});
