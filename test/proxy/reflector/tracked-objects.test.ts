import { describe, expect, test } from '@jest/globals';
import { WrapperError } from '../../../src/errors.ts';
import type { ChangeHandler } from '../../../src/filter/codec/change.ts';
import type { ObjectMeta, RawEvent } from '../../../src/filter/codec/codec.ts';
import { createJsonCodec } from '../../../src/filter/codec/json/codec.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { DEFAULT_READ_LIMITS } from '../../../src/proxy/api/read-limits.ts';
import { TrackedObjects } from '../../../src/proxy/reflector/tracked-objects.ts';

const codec = createJsonCodec();

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
    codec,
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
  if (items.length > 0) objects.replace(items, '1');
  return objects;
}

function names(changes: readonly { type: string; key: string }[]): string[] {
  return changes.map(({ type, key }) => `${type} ${key}`);
}

describe('tracked objects', () => {
  test('a list becomes the differences to the known objects', () => {
    const objects = tracked([object('same', '1'), object('changed', '2'), object('gone', '3')]);
    const list = [object('same', '1'), object('changed', '5'), object('new', '6')];
    expect(names(objects.replace(list, '6'))).toEqual([
      'MODIFIED default/changed',
      'ADDED default/new',
      'DELETED default/gone',
    ]);
  });

  test('the cost is the sum over the known objects, and is accounted for before they change', () => {
    const costs: number[] = [];
    const objects = tracked([object('a', '1'), object('b', '2')], { costs });
    expect(costs.at(-1)).toBeGreaterThan(2 * object('a', '1').length);
    objects.apply([
      event('MODIFIED', 'a', '10'),
      event('MODIFIED', 'a', '100'),
      event('ADDED', 'c', '101'),
      event('DELETED', 'b', '102'),
      event('ADDED', 'a', '1000', 'another'),
    ]);
    const same: number[] = [];
    tracked([object('a', '1000', 'another'), object('c', '101')], { costs: same });
    expect(costs.at(-1)).toBe(same.at(-1));
    objects.replace([], '1001');
    expect(costs.at(-1)).toBe(0);
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
    expect(() => objects.replace([object('db', '2')], '2')).toThrow('no room');
    expect(() => objects.apply([event('ADDED', 'db', '2')])).toThrow('no room');
    expect(reported).toEqual(['ADDED default/web', 'synced']);
    expect([...objects.known.keys()]).toEqual(['default/web']);
  });

  test('a deleted object is forgotten: it is not reported again, and returns as ADDED', () => {
    const objects = tracked([object('web', '1')]);
    objects.replace([], '2');
    expect(names(objects.replace([], '3'))).toEqual([]);
    expect(names(objects.apply([event('ADDED', 'web', '4')]).changes)).toEqual([
      'ADDED default/web',
    ]);
  });

  test('in another history the same version may be another state', () => {
    const objects = tracked([object('same', '1'), object('gone', '2')]);
    expect(names(objects.replace([object('same', '1')], '2', true))).toEqual([
      'MODIFIED default/same',
      'DELETED default/gone',
    ]);
  });

  test('an object deleted and created again while no watch was open is a DELETED and an ADDED', () => {
    const objects = tracked([object('web', '1', 'first')]);
    expect(names(objects.replace([object('web', '9', 'second')], '9'))).toEqual([
      'DELETED default/web',
      'ADDED default/web',
    ]);
  });

  test('a list that does not parse changes nothing', () => {
    const objects = tracked([object('web', '1')]);
    const list = [object('db', '2'), Buffer.from('{"metadata":')];
    expect(() => objects.replace(list, '2')).toThrow(
      expect.objectContaining({ code: 'Malformed' }),
    );
    expect(names(objects.replace([object('web', '1')], '3'))).toEqual([]);
  });

  test('only new and changed objects of a list are decoded, and must parse', () => {
    const read: string[] = [];
    const decode = (bytes: Buffer): ObjectMeta => {
      const facts = codec.meta(bytes);
      if (facts.uid === 'spoilt') throw new WrapperError('Malformed', 'facts that do not parse');
      read.push(facts.name);
      return facts;
    };
    const before = [object('same', '1'), object('changed', '2')];
    const readBy = (list: readonly Buffer[], otherHistory = false): string[] => {
      const objects = tracked(before, { decode });
      read.length = 0;
      objects.replace(list, '6', otherHistory);
      return [...read];
    };
    const list = [object('same', '1'), object('changed', '5'), object('new', '6')];
    expect(readBy(list)).toEqual(['changed', 'new']);
    expect(readBy([object('same', '1')], true)).toEqual(['same']);
    const known = [object('changed', '2'), object('same', '1', 'spoilt')];
    const unknown = [object('changed', '2'), object('new', '1', 'spoilt')];
    for (const relisted of [known, unknown]) {
      expect(() => readBy(relisted)).toThrow(expect.objectContaining({ code: 'Malformed' }));
    }
  });

  test.each([
    ['no name', { resourceVersion: '1' }],
    ['no version', { name: 'web' }],
    ['a version that is not a number', { name: 'web', resourceVersion: 'x' }],
  ])('an object with %s is malformed', (_name, metadata) => {
    const bytes = Buffer.from(JSON.stringify({ metadata }));
    expect(() => tracked([bytes])).toThrow(expect.objectContaining({ code: 'Malformed' }));
  });

  test('each event is compared with the known objects, also within one batch', () => {
    const objects = tracked([object('web', '1')]);
    const { changes, resourceVersion } = objects.apply([
      event('MODIFIED', 'web', '2'),
      event('ADDED', 'db', '3'),
      event('MODIFIED', 'db', '4'),
      event('DELETED', 'db', '5'),
      event('ADDED', 'db', '6', 'other'),
      event('ADDED', 'web', '7', 'other'),
      event('DELETED', 'unknown', '8'),
    ]);
    expect(names(changes)).toEqual([
      'MODIFIED default/web',
      'ADDED default/db',
      'MODIFIED default/db',
      'DELETED default/db',
      'ADDED default/db',
      'DELETED default/web',
      'ADDED default/web',
    ]);
    expect(resourceVersion).toBe('8');
  });

  test('a bookmark moves the version and changes nothing', () => {
    const bookmark = Buffer.from('{"metadata":{"resourceVersion":"99"}}');
    const applied = tracked().apply([{ type: 'BOOKMARK', object: bookmark }]);
    expect(applied).toEqual({ changes: [], resourceVersion: '99', error: undefined });
  });

  test('the events before an unusable one count', () => {
    const status = { code: 410, reason: 'Expired', message: 'too old' };
    const objects = tracked();
    const { changes, resourceVersion, error } = objects.apply([
      event('ADDED', 'web', '2'),
      { type: 'ERROR', status },
      event('ADDED', 'db', '3'),
    ]);
    expect(names(changes)).toEqual(['ADDED default/web']);
    expect([...objects.known.keys()]).toEqual(['default/web']);
    expect(resourceVersion).toBe('2');
    expect(error).toMatchObject({ code: 'Refused', status });
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
    const { changes, error } = objects.apply([
      event('MODIFIED', 'web', '3'),
      event('DELETED', 'web', '4'),
      event('DELETED', 'unknown', '5'),
      event('ADDED', 'new', '6'),
      event('MODIFIED', 'new', '7'),
      event('ADDED', 'more', '8'),
    ]);
    expect(names(changes)).toEqual([
      'MODIFIED default/web',
      'DELETED default/web',
      'ADDED default/new',
      'MODIFIED default/new',
    ]);
    expect(error).toMatchObject({ code: 'TooLarge' });
    const list = ['a', 'b', 'c'].map((name) => object(name, '1'));
    expect(() => objects.replace(list, '9')).toThrow(expect.objectContaining({ code: 'TooLarge' }));
  });

  test('an object of the maximum size is accepted, a larger one is not', () => {
    const bytes = object('web', '1');
    const readLimits = { ...DEFAULT_READ_LIMITS, maxObjectBytes: bytes.length };
    expect(() => tracked([bytes], { readLimits })).not.toThrow();
    expect(() => tracked([object('web', '10')], { readLimits })).toThrow(
      expect.objectContaining({ code: 'TooLarge' }),
    );
  });
});
