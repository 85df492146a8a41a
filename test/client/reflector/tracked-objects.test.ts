import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CURRENT_SLICES } from '../../../src/client/api/kube-proxy-queries.ts';
import { DEFAULT_READ_LIMITS } from '../../../src/client/api/read-limits.ts';
import { TrackedObjects } from '../../../src/client/reflector/tracked-objects.ts';
import { WrapperError } from '../../../src/errors.ts';
import type { ObjectMeta, RawEvent } from '../../../src/filter/codec/codec.ts';
import { JsonCodec } from '../../../src/filter/codec/json/json-codec.ts';
import type { ChangeHandler } from '../../../src/filter/objects/change.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';

const codec = new JsonCodec();

function object(name: string, resourceVersion: string, uid = name): Buffer {
  return Buffer.from(
    JSON.stringify({ metadata: { name, namespace: 'default', uid, resourceVersion } }),
  );
}

function event(type: 'ADDED' | 'MODIFIED' | 'DELETED', name: string, version: string, uid = name) {
  return { type, object: object(name, version, uid) } satisfies RawEvent;
}

/** Tracks these objects. Each cost is added to `costs`, before `account` may refuse it. */
function tracked(
  items: readonly Buffer[] = [],
  {
    readLimits = DEFAULT_READ_LIMITS,
    decode = (bytes: Buffer): ObjectMeta => codec.meta(bytes),
    costs = [] as number[],
    account = (): void => {},
    handler = { onChanges: () => {}, onSynced: () => {} } as ChangeHandler,
  } = {},
): TrackedObjects<ObjectMeta> {
  const objects = new TrackedObjects({
    query: { ...CURRENT_SLICES, encoding: 'json' },
    decode,
    handler,
    readLimits,
    versions: new VersionAllocator(1),
    memory: {
      reading: () => {},
      objects: (bytes) => {
        costs.push(bytes);
        account();
      },
    },
  });
  if (items.length > 0) objects.replace(items, '1', 'json');
  return objects;
}

function names(changes: readonly { type: string; key: string }[]): string[] {
  return changes.map(({ type, key }) => `${type} ${key}`);
}

describe('tracked objects', () => {
  // Each list of an hour of lists stayed, because one object in each of its buffers had changed.
  test('what a further list has changed does not keep that list', () => {
    const body = Buffer.concat([object('a', '1'), object('b', '3'), object('c', '3')]);
    const size = body.length / 3;
    const listed = [0, 1, 2].map((n) => body.subarray(n * size, (n + 1) * size));
    const changes = tracked([object('a', '1'), object('b', '2')]).replace(listed, '3', 'json');
    expect(names(changes)).toEqual(['MODIFIED default/b', 'ADDED default/c']);
    const kept = changes.flatMap((change) => (change.type === 'DELETED' ? [] : change.object));
    expect(kept).toEqual(listed.slice(1));
    expect(kept.map(({ buffer }) => buffer === body.buffer)).toEqual([false, false]);
  });

  test('lists and events become changes that lead a handler to the newest state, and the cost is that of this state', () => {
    const write = fc.record({
      name: fc.constantFrom('a', 'b', 'c'),
      uid: fc.constantFrom('first', 'second'),
      isDeleted: fc.boolean(),
    });
    const batch = fc.record({ writes: fc.array(write, { maxLength: 6 }), isList: fc.boolean() });
    fc.assert(
      fc.property(fc.array(batch, { maxLength: 8 }), (batches) => {
        const seen = new Map<string, ObjectMeta>();
        const onChanges: ChangeHandler['onChanges'] = (changes) => {
          for (const change of changes) {
            const before = seen.get(change.key);
            expect(before === undefined).toBe(change.type === 'ADDED');
            if (change.type === 'DELETED') seen.delete(change.key);
            else {
              if (change.type === 'MODIFIED') expect(change.facts.uid).toBe(before?.uid);
              seen.set(change.key, change.facts);
            }
          }
        };
        const costs = [0];
        const objects = tracked([], { costs, handler: { onChanges, onSynced: () => {} } });
        const exists = new Map<string, Buffer>();
        let version = 1;
        for (const { writes, isList } of batches) {
          const events = writes.map(({ name, uid, isDeleted }) => {
            version++;
            const each = event(isDeleted ? 'DELETED' : 'MODIFIED', name, String(version), uid);
            if (isDeleted) exists.delete(`default/${name}`);
            else exists.set(`default/${name}`, each.object);
            return each;
          });
          if (isList) objects.replace([...exists.values()], String(version), 'json');
          else objects.apply(events, '0');
          expect(objects.replace([...exists.values()], String(version), 'json')).toEqual([]);
          const wanted = [...exists].map(([key, bytes]) => [key, codec.meta(bytes)] as const);
          expect(seen).toEqual(new Map(wanted));
          const same = [0];
          tracked([...exists.values()], { costs: same });
          expect(costs.at(-1)).toBe(same.at(-1));
        }
      }),
      { numRuns: 300 },
    );
  });

  test('what has no room is reported to no handler, and nothing of it is known', () => {
    const reported: string[] = [];
    const handler: ChangeHandler = {
      onChanges: (changes) => void reported.push(...names(changes)),
      onSynced: () => void reported.push('synced'),
    };
    const room = { isLeft: true };
    const objects = tracked([object('web', '1')], {
      handler,
      account: () => {
        if (!room.isLeft) throw new WrapperError('LimitExceeded', 'no room');
      },
    });
    room.isLeft = false;
    expect(() => objects.replace([object('db', '2')], '2', 'json')).toThrow('no room');
    expect(() => objects.apply([event('ADDED', 'db', '2')], '1')).toThrow('no room');
    expect(reported).toEqual(['ADDED default/web', 'synced']);
    expect([...objects.known.keys()]).toEqual(['default/web']);
  });

  test('in another history the same version may be another state', () => {
    const objects = tracked([object('same', '1'), object('gone', '2')]);
    expect(names(objects.replace([object('same', '1')], '2', 'json', true))).toEqual([
      'MODIFIED default/same',
      'DELETED default/gone',
    ]);
  });

  test('a list that does not parse changes nothing', () => {
    const objects = tracked([object('web', '1')]);
    const list = [object('db', '2'), Buffer.from('{"metadata":')];
    expect(() => objects.replace(list, '2', 'json')).toThrow(
      expect.objectContaining({ code: 'Malformed' }),
    );
    expect(names(objects.replace([object('web', '1')], '3', 'json'))).toEqual([]);
  });

  test('only new and changed objects of a list are decoded', () => {
    const read: string[] = [];
    const decode = (bytes: Buffer): ObjectMeta => {
      const facts = codec.meta(bytes);
      read.push(facts.name);
      return facts;
    };
    const objects = tracked([object('same', '1'), object('changed', '2')], { decode });
    read.length = 0;
    objects.replace([object('same', '1'), object('changed', '5'), object('new', '6')], '6', 'json');
    expect(read).toEqual(['changed', 'new']);
  });

  test.each([
    ['no name', { resourceVersion: '1' }],
    ['no version', { name: 'web' }],
    ['a version that is not a number', { name: 'web', resourceVersion: 'x' }],
  ])('an object with %s is malformed', (_name, metadata) => {
    const bytes = Buffer.from(JSON.stringify({ metadata }));
    expect(() => tracked([bytes])).toThrow(expect.objectContaining({ code: 'Malformed' }));
  });

  test('a bookmark moves the version and changes nothing', () => {
    const bookmark = Buffer.from('{"metadata":{"resourceVersion":"99"}}');
    const applied = tracked().apply([{ type: 'BOOKMARK', object: bookmark }], '1');
    expect(applied).toMatchObject({ changes: [], resourceVersion: '99', error: undefined });
  });

  test('the events before an unusable one count', () => {
    const status = { code: 410, reason: 'Expired', message: 'too old' };
    const objects = tracked();
    const { changes, resourceVersion, error } = objects.apply(
      [event('ADDED', 'web', '2'), { type: 'ERROR', status }, event('ADDED', 'db', '3')],
      '1',
    );
    expect(names(changes)).toEqual(['ADDED default/web']);
    expect([...objects.known.keys()]).toEqual(['default/web']);
    expect(resourceVersion).toBe('2');
    expect(error).toMatchObject({ code: 'Refused', status });
  });

  // KubeEdge's MetaServer begins each watch with all that it has stored, and deletes nothing while it is offline.
  test('a watch that begins with what a cache has changes nothing that is newer, or deleted', () => {
    const metadata = { name: 'db', namespace: 'default', uid: 'db', resourceVersion: '3' };
    const changedInLists = Buffer.from(JSON.stringify({ metadata, endpoints: [] }));
    const objects = tracked([object('web', '8'), object('db', '3')]);
    const { changes, resourceVersion, isReplay } = objects.apply(
      [
        event('ADDED', 'web', '5'),
        event('ADDED', 'web', '8'),
        { type: 'ADDED', object: changedInLists },
        event('ADDED', 'ghost', '9'),
        event('ADDED', 'new', '12'),
        event('MODIFIED', 'db', '11'),
        event('DELETED', 'web', '7'),
        event('DELETED', 'new', '13'),
        event('ADDED', 'new', '12'),
      ],
      '10',
    );
    expect(names(changes)).toEqual([
      'MODIFIED default/db',
      'ADDED default/new',
      'MODIFIED default/db',
      'DELETED default/new',
      'ADDED default/new',
    ]);
    expect({ resourceVersion, isReplay }).toEqual({ resourceVersion: '13', isReplay: true });
  });

  test('a bookmark at the version of the watch is not of a cache', () => {
    const bookmark = Buffer.from('{"metadata":{"resourceVersion":"10"}}');
    const events = [{ type: 'BOOKMARK', object: bookmark }, event('ADDED', 'new', '11')] as const;
    expect(tracked().apply(events, '10')).toMatchObject({ isReplay: false, resourceVersion: '11' });
  });

  test('the objects that changed last are found in order', () => {
    const versions = ['5', '100', '20', '9', '99'];
    const objects = tracked(versions.map((version) => object(`v${version}`, version)));
    const newest = (count: number) => [...objects.newest(count).keys()];
    expect(newest(3)).toEqual(['default/v100', 'default/v99', 'default/v20']);
    expect(newest(9)).toHaveLength(5);
  });

  test('the maximum number of objects is accepted, also when one replaces another', () => {
    const readLimits = { ...DEFAULT_READ_LIMITS, maxObjects: 2 };
    const objects = tracked([object('web', '1'), object('db', '2')], { readLimits });
    const { changes, error } = objects.apply(
      [
        event('MODIFIED', 'web', '3'),
        event('DELETED', 'web', '4'),
        event('DELETED', 'unknown', '5'),
        event('ADDED', 'new', '6'),
        event('MODIFIED', 'new', '7'),
        event('ADDED', 'more', '8'),
      ],
      '2',
    );
    expect(names(changes)).toEqual([
      'MODIFIED default/web',
      'DELETED default/web',
      'ADDED default/new',
      'MODIFIED default/new',
    ]);
    expect(error).toMatchObject({ code: 'TooLarge' });
    const list = ['a', 'b', 'c'].map((name) => object(name, '1'));
    expect(() => objects.replace(list, '9', 'json')).toThrow(
      expect.objectContaining({ code: 'TooLarge' }),
    );
  });

  test('an object of the maximum size is accepted, a larger one is not', () => {
    const bytes = object('web', '1');
    const readLimits = { ...DEFAULT_READ_LIMITS, maxObjectBytes: bytes.length };
    expect(() => tracked([bytes], { readLimits })).not.toThrow();
    const message = `the object "default/web" has ${bytes.length + 1} bytes; an object may have ${bytes.length} bytes`;
    expect(() => tracked([object('web', '10')], { readLimits })).toThrow(
      expect.objectContaining({ code: 'TooLarge', message }),
    );
  });
});
