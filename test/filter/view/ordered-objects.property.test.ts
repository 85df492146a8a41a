import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CODECS } from '../../../src/client/api/codecs.ts';
import { ownedCopy } from '../../../src/filter/codec/bytes/owned-copy.ts';
import type { Codec, Encoding, ObjectBytes } from '../../../src/filter/codec/codec.ts';
import { SERVICES } from '../../../src/filter/objects/resource.ts';
import { OrderedObjects } from '../../../src/filter/view/ordered-objects.ts';
import { encodeObject } from '../../support/codec/encode-object.ts';
import { liveBytes } from '../../support/live-bytes.ts';
import { propertyRuns } from '../../support/property-runs.ts';

/** Small, so that few objects are several pages. */
const PAGE_BYTES = 16 * 1024;

const KEYS = Array.from(
  { length: 40 },
  (_, n) => `${'abcd'[n % 4]}${n % 3 === 0 ? '-x' : ''}/${n}`,
);
const key = fc.constantFrom(...KEYS);
const size = fc.oneof(
  { weight: 4, arbitrary: fc.nat(4_000) },
  { weight: 1, arbitrary: fc.constant(2 * PAGE_BYTES) },
);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('set' as const), key, size }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('list' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('read' as const) }) },
);

function objectOf(encoding: Encoding, name: string, turn: number, bytes: number): ObjectBytes {
  const annotations = { pad: 'x'.repeat(bytes) };
  const metadata = { name, namespace: 'a', resourceVersion: String(turn + 1), annotations };
  return ownedCopy(encodeObject(encoding, 'Service', { metadata }));
}

/** The memory in which these bytes are. */
function memoriesOf(all: Iterable<Buffer>): Set<ArrayBufferLike> {
  return new Set([...all].map(({ buffer }) => buffer));
}

function memorySize(all: Iterable<Buffer>): number {
  return [...memoriesOf(all)].reduce((sum, { byteLength }) => sum + byteLength, 0);
}

function sizeOf(all: Iterable<Buffer>): number {
  return [...all].reduce((sum, { length }) => sum + length, 0);
}

function listed(object: ObjectBytes | undefined): readonly ObjectBytes[] {
  return object === undefined ? [] : [object];
}

/** Faster than toEqual. */
function areEqual(all: readonly Buffer[], others: readonly Buffer[]): boolean {
  return all.length === others.length && all.every((each, at) => each.equals(others[at] as Buffer));
}

/** Objects, and a simple model of them. */
class Twin {
  readonly objects = new OrderedObjects(PAGE_BYTES);
  readonly model = new Map<string, ObjectBytes>();
  readonly codec: Codec;
  /** Lists that clients are still reading, and what was listed. */
  readonly #lists: { readonly body: readonly Buffer[]; readonly items: readonly ObjectBytes[] }[] =
    [];
  #turn = 0;

  constructor(encoding: Encoding) {
    this.codec = CODECS[encoding];
  }

  set(name: string, bytes: number): void {
    const object = objectOf(this.codec.encoding, name.replace('/', '-'), this.#turn++, bytes);
    this.#expectBefore(name, this.objects.set(name, object));
    this.model.set(name, object);
  }

  delete(name: string): void {
    this.#expectBefore(name, this.objects.delete(name));
    this.model.delete(name);
  }

  list(): readonly Buffer[] {
    const items = this.objects.list(this.codec);
    const body = this.codec.encodeList(SERVICES, '7', items);
    this.#lists.push({ body, items: this.#inOrder() });
    return items;
  }

  check(): void {
    expect(this.objects.size).toBe(this.model.size);
    expect(new Set(this.objects.keys())).toEqual(new Set(this.model.keys()));
    expect(this.objects.bytes).toBe(sizeOf(this.model.values()));
    const own = [...this.model.keys()].map((each) => this.objects.get(each) as ObjectBytes);
    // Small objects share blocks of 4 KB.
    const most = this.objects.bytes + this.objects.deadBytes + 4096 * (this.model.size + 1);
    expect(memorySize(own)).toBeLessThanOrEqual(most);
    // Heads are dead too.
    const heads = 8 * this.model.size;
    expect(this.objects.deadBytes).toBeLessThanOrEqual(this.objects.bytes + heads);
  }

  checkOrder(): void {
    expect(areEqual(this.objects.inOrder(), this.#inOrder())).toBe(true);
  }

  /** Clients see what was there when they asked. */
  checkLists(): void {
    for (const { body, items } of this.#lists) {
      expect(areEqual(this.codec.decodeList(body).items, items)).toBe(true);
    }
  }

  #expectBefore(name: string, before: ObjectBytes | undefined): void {
    expect(listed(before).length).toBe(this.model.has(name) ? 1 : 0);
    expect(areEqual(listed(before), listed(this.model.get(name)))).toBe(true);
  }

  #inOrder(): ObjectBytes[] {
    return [...this.model].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
  }
}

describe.each<Encoding>(['protobuf', 'json'])('objects in %s', (encoding) => {
  test('are listed in the order of their keys as they are, and slow readers see what was there', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
        const twin = new Twin(encoding);
        for (const each of steps) {
          if (each.do === 'set') twin.set(each.key, each.size);
          else if (each.do === 'delete') twin.delete(each.key);
          else if (each.do === 'list') twin.list();
          else twin.checkOrder();
          twin.check();
        }
        twin.list();
        twin.checkLists();
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  test('are listed as an empty list before the first and after the last', () => {
    const twin = new Twin(encoding);
    expect(twin.list()).toEqual([]);
    twin.set('a/x', 10);
    twin.list();
    twin.delete('a/x');
    expect(twin.list()).toEqual([]);
    twin.set('a/x', 10);
    twin.list();
    twin.checkLists();
    twin.objects.clear();
    twin.model.clear();
    twin.check();
    expect(twin.list()).toEqual([]);
  });
});

describe('pages', () => {
  let twin: Twin;
  const nameOf = (n: number): string => `a/${String(n).padStart(4, '0')}`;

  function fill(count: number, bytes: number): void {
    twin = new Twin('protobuf');
    for (let n = 0; n < count; n++) twin.set(nameOf(n), bytes);
  }

  test('are the same buffers while nothing changes, and all objects are in them', () => {
    fill(100, 1_000);
    const before = twin.list();
    expect(before.length).toBeGreaterThan(3);
    expect(Math.max(...before.map(({ length }) => length))).toBeLessThanOrEqual(PAGE_BYTES + 300);
    expect(twin.list()).toEqual(before);
    expect(memoriesOf(twin.objects.inOrder())).toEqual(memoriesOf(before));
    expect(twin.objects.deadBytes).toBeLessThan(500);
  });

  test('stay as they are when an object changes, so that a list costs only what has changed', () => {
    fill(100, 1_000);
    const pages = memoriesOf(twin.list());
    for (let n = 0; n < 100; n += 20) {
      twin.set(nameOf(n), 1_000);
      const list = twin.list();
      const others = list.filter(({ buffer }) => !pages.has(buffer));
      expect(sizeOf(others)).toBeLessThan(1_200 * (n / 20 + 1));
    }
  });

  // A client that keeps an old list keeps what has changed since, which is also in the log.
  test('that are written again take at most a few times the bytes that have changed', () => {
    fill(50, 1_000);
    const kept = new Set<ArrayBufferLike>();
    for (let turn = 0; turn < 500; turn++) {
      twin.set(nameOf((turn * 7) % 50), 1_000);
      for (const { buffer } of twin.objects.list(twin.codec)) {
        if (buffer.byteLength > 2_000) kept.add(buffer);
      }
    }
    const written = [...kept].reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(written).toBeGreaterThan(500_000);
    expect(written).toBeLessThan(1_500_000);
  });

  test.each([
    ['first', (n: number) => 500 - n],
    ['last', (n: number) => n],
    ['in between', (n: number) => (n * 7919) % 500],
  ])('are few, also if each new object is the %s', (_, placeOf) => {
    twin = new Twin('protobuf');
    for (let n = 0; n < 500; n++) {
      twin.set(nameOf(placeOf(n)), 1_000);
      twin.objects.list(twin.codec);
    }
    const inPages = twin.objects.inOrder().filter(({ buffer }) => buffer.byteLength > 5_000);
    expect(inPages.length).toBeGreaterThan(250);
    for (let n = 0; n < 500; n++) twin.set(nameOf(n), 1_000);
    // Some 500 kB.
    expect(twin.list().length).toBeLessThan(80);
    twin.checkLists();
  });

  test('are released when they have been written again', async () => {
    fill(50, 1_000);
    const change = (turns: number): void => {
      for (let turn = 0; turn < turns; turn++) {
        twin.set(nameOf((turn * 7) % 50), 1_000);
        twin.objects.list(twin.codec);
      }
    };
    change(200);
    const before = await liveBytes();
    change(2_000);
    // They were more than 3 MB.
    expect((await liveBytes()) - before).toBeLessThan(1_000_000);
  });

  test('are released when few of their objects are left', () => {
    fill(200, 1_000);
    twin.list();
    for (let n = 0; n < 200; n++) if (n % 15 !== 0) twin.delete(nameOf(n));
    expect(memorySize(twin.objects.inOrder())).toBeLessThan(20_000);
    expect(twin.objects.deadBytes).toBe(0);
    twin.list();
    twin.checkLists();
  });
});
