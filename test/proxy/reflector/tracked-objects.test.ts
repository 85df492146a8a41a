import { describe, expect, test } from '@jest/globals';
import { WrapperError } from '../../../src/errors.ts';
import type { ObjectMeta, RawEvent } from '../../../src/filter/codec/codec.ts';
import { createJsonCodec } from '../../../src/filter/codec/json/codec.ts';
import { DeltaTracker } from '../../../src/proxy/reflector/delta-tracker.ts';

const codec = createJsonCodec();

function object(name: string, resourceVersion: string, uid = name): Buffer {
  return Buffer.from(
    JSON.stringify({ metadata: { name, namespace: 'default', uid, resourceVersion } }),
  );
}

function event(type: 'ADDED' | 'MODIFIED' | 'DELETED', name: string, version: string, uid = name) {
  return { type, object: object(name, version, uid) } satisfies RawEvent;
}

function trackerOf(...items: Buffer[]): DeltaTracker<ObjectMeta> {
  return boundedTracker({ maxObjects: 100, maxObjectBytes: 1000 }, ...items);
}

function boundedTracker(
  bounds: { readonly maxObjects: number; readonly maxObjectBytes: number },
  ...items: Buffer[]
): DeltaTracker<ObjectMeta> {
  const meta = (bytes: Buffer) => codec.meta(bytes);
  const tracker = new DeltaTracker<ObjectMeta>(meta, meta, bounds);
  tracker.commit(tracker.replace(items));
  return tracker;
}

function names(changes: readonly { type: string; key: string }[]): string[] {
  return changes.map(({ type, key }) => `${type} ${key}`);
}

describe('DeltaTracker', () => {
  test('a list becomes the differences to the known objects', () => {
    const tracker = trackerOf(object('same', '1'), object('changed', '2'), object('gone', '3'));
    const changes = tracker.replace([
      object('same', '1'),
      object('changed', '5'),
      object('new', '6'),
    ]);
    expect(names(changes)).toEqual([
      'MODIFIED default/changed',
      'ADDED default/new',
      'DELETED default/gone',
    ]);
  });

  test('the cost is the sum over the known objects after any changes', () => {
    const costs = (...items: Buffer[]) => trackerOf(...items).costWith([]);
    const tracker = trackerOf(object('a', '1'), object('b', '2'));
    expect(tracker.costWith([])).toBeGreaterThan(2 * object('a', '1').length);
    const events = [
      event('MODIFIED', 'a', '10'),
      event('MODIFIED', 'a', '100'),
      event('ADDED', 'c', '101'),
      event('DELETED', 'b', '102'),
      event('ADDED', 'a', '1000', 'another'),
    ];
    const { changes } = tracker.apply(events);
    const after = costs(object('a', '1000', 'another'), object('c', '101'));
    expect(tracker.costWith(changes)).toBe(after);
    tracker.commit(changes);
    expect(tracker.costWith([])).toBe(after);
    tracker.commit(tracker.replace([]));
    expect(tracker.costWith([])).toBe(0);
  });

  test('a deleted object is forgotten: it is not reported again, and returns as ADDED', () => {
    const tracker = trackerOf(object('web', '1'));
    tracker.commit(tracker.replace([]));
    expect(names(tracker.replace([]))).toEqual([]);
    expect(names(tracker.apply([event('ADDED', 'web', '2')]).changes)).toEqual([
      'ADDED default/web',
    ]);
  });

  test('in another history the same version may be another state', () => {
    const tracker = trackerOf(object('same', '1'), object('gone', '2'));
    expect(names(tracker.replace([object('same', '1')], true))).toEqual([
      'MODIFIED default/same',
      'DELETED default/gone',
    ]);
  });

  test('an object deleted and created again while no watch was open is a DELETED and an ADDED', () => {
    const tracker = trackerOf(object('web', '1', 'first'));
    expect(names(tracker.replace([object('web', '9', 'second')]))).toEqual([
      'DELETED default/web',
      'ADDED default/web',
    ]);
  });

  test('a list that does not parse changes nothing', () => {
    const tracker = trackerOf(object('web', '1'));
    expect(() => tracker.replace([object('db', '2'), Buffer.from('{"metadata":')])).toThrow(
      expect.objectContaining({ code: 'Malformed' }),
    );
    expect(names(tracker.replace([object('web', '1')]))).toEqual([]);
  });

  test('only new and changed objects of a list are decoded, and must parse', () => {
    const read: string[] = [];
    const meta = (bytes: Buffer) => codec.meta(bytes);
    const tracker = new DeltaTracker<ObjectMeta>(meta, (bytes) => {
      const facts = codec.meta(bytes);
      if (facts.uid === 'spoilt') throw new WrapperError('Malformed', 'facts that do not parse');
      read.push(facts.name);
      return facts;
    });
    tracker.commit(tracker.replace([object('same', '1'), object('changed', '2')]));
    read.length = 0;
    tracker.replace([object('same', '1'), object('changed', '5'), object('new', '6')]);
    expect(read).toEqual(['changed', 'new']);
    tracker.replace([object('same', '1')], true);
    expect(read).toEqual(['changed', 'new', 'same']);
    for (const name of ['same', 'new']) {
      const relisted = [object('changed', '2'), object(name, '1', 'spoilt')];
      expect(() => tracker.replace(relisted)).toThrow(
        expect.objectContaining({ code: 'Malformed' }),
      );
    }
  });

  test.each([
    ['no name', { resourceVersion: '1' }],
    ['no version', { name: 'web' }],
    ['a version that is not a number', { name: 'web', resourceVersion: 'x' }],
  ])('an object with %s is malformed', (_name, metadata) => {
    const bytes = Buffer.from(JSON.stringify({ metadata }));
    expect(() => trackerOf(bytes)).toThrow(expect.objectContaining({ code: 'Malformed' }));
  });

  test('each event is compared with the known objects, also within one batch', () => {
    const tracker = trackerOf(object('web', '1'));
    const { changes, resourceVersion } = tracker.apply([
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
    const followed = trackerOf().apply([{ type: 'BOOKMARK', object: bookmark }]);
    expect(followed).toEqual({ changes: [], resourceVersion: '99', error: undefined });
  });

  test('the events before an unusable one count', () => {
    const status = { code: 410, reason: 'Expired', message: 'too old' };
    const { changes, resourceVersion, error } = trackerOf().apply([
      event('ADDED', 'web', '2'),
      { type: 'ERROR', status },
      event('ADDED', 'db', '3'),
    ]);
    expect(names(changes)).toEqual(['ADDED default/web']);
    expect(resourceVersion).toBe('2');
    expect(error).toMatchObject({ code: 'Refused', status });
  });

  test('the maximum number of objects is accepted, also when one replaces another', () => {
    const tracker = boundedTracker(
      { maxObjects: 2, maxObjectBytes: 1000 },
      ...[object('web', '1'), object('db', '2')],
    );
    const { changes, error } = tracker.apply([
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
    expect(() => tracker.replace([object('a', '1'), object('b', '1'), object('c', '1')])).toThrow(
      expect.objectContaining({ code: 'TooLarge' }),
    );
  });

  test('an object of the maximum size is accepted, a larger one is not', () => {
    const bytes = object('web', '1');
    const bounds = { maxObjects: 2, maxObjectBytes: bytes.length };
    expect(() => boundedTracker(bounds, bytes)).not.toThrow();
    expect(() => boundedTracker(bounds, object('web', '10'))).toThrow(
      expect.objectContaining({ code: 'TooLarge' }),
    );
  });
});
