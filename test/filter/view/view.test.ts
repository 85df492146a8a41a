import { expect, test } from '@jest/globals';
import { parseListOptions } from '../../../src/client/api/list-options.ts';
import { WrapperError } from '../../../src/errors.ts';
import { JsonCodec } from '../../../src/filter/codec/json/json-codec.ts';
import { SERVICES } from '../../../src/filter/objects/resource.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { View } from '../../../src/filter/view/view.ts';
import { readList, readObject } from '../../../src/server/serving/view-response.ts';

const OBJECT = Buffer.from('{"metadata":{"name":"web","resourceVersion":"1"}}');

function viewOfServices(
  window = { entries: 10, bytes: 1 << 20 },
  now = () => performance.now(),
): View {
  const versions = new VersionAllocator(0);
  return new View({ resource: SERVICES, codec: new JsonCodec(), versions, window, now });
}

test.each([
  ['entries', { entries: 10, bytes: 1 << 20 }],
  ['bytes', { entries: 1000, bytes: 100 }],
])(
  'a watcher at the end stays in the window while all objects are deleted, beyond a window of %s',
  (_name, window) => {
    let now = 0;
    const view = viewOfServices(window, () => now);
    const keys = Array.from({ length: 100 }, (_, index) => `default/web-${index}`);
    view.start(keys.map((key) => [key, OBJECT] as const));
    const position = view.log.end;
    // In several commits, as a large change is.
    for (const [index, key] of keys.entries()) {
      view.delete(key);
      if (index % 32 === 0) view.log.commit();
    }
    view.log.commit();
    view.log.commit();
    expect(view.log.contains(position)).toBe(true);
    expect(view.size).toBe(0);
    // After two minutes the current size bounds the window again.
    now += 120_000;
    view.log.commit();
    now += 60_000;
    view.set('default/web', OBJECT);
    view.log.commit();
    expect(view.log.contains(position)).toBe(false);
  },
);

test('a log keeps what changed in five minutes, and of what is older than ten a thousand changes', () => {
  let now = 0;
  const view = viewOfServices({ entries: 10_000, bytes: 1 << 24 }, () => now);
  view.start([['default/web', OBJECT]]);
  const after = (seconds: number, changes: number) => {
    now += seconds * 1000;
    for (let change = 0; change < changes; change++) view.set('default/web', OBJECT);
    view.log.commit();
    return view.log.size;
  };
  expect(after(0, 3_000)).toBe(3_000);
  expect(after(299, 1)).toBe(3_001);
  expect(after(2, 1)).toBe(3_002);
  expect(after(300, 1)).toBe(1_000);
  // A watcher that waited through a quiet time reads all that comes at once.
  const position = view.log.end;
  expect(after(3_600, 4_000)).toBe(4_000);
  expect(view.log.contains(position)).toBe(true);
});

// In the order of etcd's keys, `a-b/…` comes before `a/…`.
test('its objects have the order of their keys, whatever was added in between', () => {
  const view = viewOfServices();
  const named = (name: string) =>
    Buffer.from(`{"metadata":{"name":"${name}","resourceVersion":"1"}}`);
  const order = () => view.state().items.map((item) => JSON.parse(String(item)).metadata.name);
  view.start(['b/x', 'a/y', 'a-b/z'].map((key) => [key, named(key)] as const));
  expect(order()).toEqual(['a-b/z', 'a/y', 'b/x']);
  for (const key of ['a/x', 'a/y']) view.set(key, named(key));
  view.delete('b/x');
  expect(order()).toEqual(['a-b/z', 'a/x', 'a/y']);
  expect([...view.keys()]).toHaveLength(view.size);
});

test('all that read the same state share it and its list, and a change ends that', () => {
  const view = viewOfServices();
  view.start([['default/web', OBJECT]]);
  const first = view.state();
  expect([view.state(), view.state().list]).toEqual([first, first.list]);
  expect(view.state().list.buffers).toBe(first.list.buffers);
  view.set('default/web', Buffer.from('{"metadata":{"name":"other","resourceVersion":"2"}}'));
  expect(String(Buffer.concat(view.state().list.buffers))).toContain('other');
  view.log.reach(view.log.version + 7n);
  expect(String(view.state().list.buffers[0])).toContain(String(view.log.version));
  view.startAt(view.log.version);
  view.delete('default/web');
  expect(view.state().items).toEqual([]);
});

test('a state that was not read in time cannot be read, and one that was read stays as it was', () => {
  const view = viewOfServices();
  view.start([['default/web', OBJECT]]);
  const { list, items } = view.state();
  view.set('default/web', Buffer.from('{"metadata":{"name":"other","resourceVersion":"2"}}'));
  expect(String(Buffer.concat(list.buffers))).toContain('"web"');
  expect(String(items)).toContain('"web"');
  const late = view.state();
  view.delete('default/web');
  expect(() => late.list).toThrow('the view has changed meanwhile');
  expect(() => late.items).toThrow('the view has changed meanwhile');
});

test('its state cannot be read once it is closed, because it would be empty', () => {
  const view = viewOfServices();
  view.start([['default/web', OBJECT]]);
  view.close(new WrapperError('LimitExceeded', 'no room'));
  for (const read of [
    () => view.state(),
    () => readList(view, parseListOptions(new URLSearchParams())),
    () =>
      readObject(
        view,
        { namespace: 'default', name: 'web' },
        parseListOptions(new URLSearchParams()),
      ),
  ]) {
    expect(read).toThrow('no room');
  }
});

test("with the API server's versions, it starts again at a later one and forgets what was before", () => {
  const view = viewOfServices();
  const versionOf = (object = view.get('default/web')) => object && view.codec.meta(object);
  view.set('default/web', OBJECT, {}, 7n);
  expect(view.started).toBe(false);
  view.startAt(9n);
  expect([view.log.version, view.log.size, versionOf()?.resourceVersion]).toEqual([9n, 0, '7']);
  view.delete('default/web', 11n);
  const entry = view.log.at(0);
  expect([entry?.type, entry?.version, versionOf(entry?.object)?.resourceVersion]).toEqual([
    'DELETED',
    11n,
    '11',
  ]);
  view.startAt(20n);
  expect([view.log.size, view.log.positionAfter(11n), view.log.positionAfter(20n)]).toEqual([
    0,
    undefined,
    0,
  ]);
});
