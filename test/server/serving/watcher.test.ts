import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { WrapperError } from '../../../src/errors.ts';
import { JsonCodec } from '../../../src/filter/codec/json/json-codec.ts';
import { SERVICES } from '../../../src/filter/objects/resource.ts';
import { OrderedObjects } from '../../../src/filter/view/ordered-objects.ts';
import { VersionAllocator } from '../../../src/filter/view/version-allocator.ts';
import { View } from '../../../src/filter/view/view.ts';
import { ViewState } from '../../../src/filter/view/view-state.ts';
import {
  LARGE_BLOCK_BYTES,
  LargeBlocks,
  WRITE_BLOCK_BYTES,
  type WriteLimits,
} from '../../../src/server/http/large-blocks.ts';
import { Watcher } from '../../../src/server/serving/watcher.ts';
import { eventually } from '../../support/eventually.ts';

/*
 * The test controls what the client reads and when: it makes the socket report that it is full or drained, and it
 * advances the clock.
 */
const TIMES = { bookmarkMs: 1000, writeTimeoutMs: 5000, timeoutMs: 60_000 };

let view: View;
let response: ServerResponse;
let received: () => string;
let client: Promise<IncomingMessage>;
let stalled: number;
let hasRoom: boolean;
/** Whether the client reads nothing: a write never ends. */
let readsNothing: boolean;
/** Number of watches that have unsubscribed from the log. */
let released: () => number;
const server = createServer();

beforeEach(async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance'] });
  [stalled, hasRoom, readsNothing] = [0, true, false];
  const codec = new JsonCodec();
  const window = { entries: 100, bytes: 1 << 20 };
  view = new View({ resource: SERVICES, codec, versions: new VersionAllocator(0), window });
  view.start([['a/x', objectOf('x')]]);
  const subscribe = view.log.subscribe.bind(view.log);
  let unsubscribed = 0;
  released = () => unsubscribed;
  jest.spyOn(view.log, 'subscribe').mockImplementation((listener) => {
    const unsubscribe = subscribe(listener);
    return () => {
      unsubscribed++;
      unsubscribe();
    };
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const asked = new Promise<ServerResponse>((resolve) =>
    server.once('request', (_request, each) => resolve(each)),
  );
  let text = '';
  received = () => text;
  const answered = Promise.withResolvers<IncomingMessage>();
  client = answered.promise;
  get({ port, host: '127.0.0.1', agent: false }, (incoming) => {
    answered.resolve(incoming);
    incoming.on('data', (chunk) => {
      text += String(chunk);
    });
    incoming.on('error', () => {});
  }).on('error', () => {});
  response = await asked;
  const write = response.write.bind(response) as (bytes: Buffer, onWritten: unknown) => boolean;
  jest.spyOn(response, 'write').mockImplementation((bytes, onWritten) => {
    write(bytes as Buffer, readsNothing ? undefined : onWritten);
    return hasRoom;
  });
  Object.defineProperty(response, 'writableLength', {
    configurable: true,
    get: () => (hasRoom ? 0 : 1),
  });
});

afterEach(async () => {
  jest.useRealTimers();
  jest.restoreAllMocks();
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
});

function objectOf(name: string, text = ''): Buffer {
  const metadata = { name, namespace: 'a', resourceVersion: '1' };
  return Buffer.from(JSON.stringify({ metadata, spec: { text } }));
}

function change(text: string): void {
  view.set('a/x', objectOf('x', text));
  view.log.commit();
}

function watch({
  bookmarks = true,
  initial = undefined as ViewState | undefined,
  largeBlocks = undefined as WriteLimits['largeBlocks'],
} = {}): Watcher {
  const watcher = new Watcher({
    view,
    response,
    bookmarks,
    position: view.log.end,
    initialEventsEnd: false,
    ...TIMES,
    onTimeout: () => stalled++,
    largeBlocks,
  });
  watcher.start(initial);
  return watcher;
}

/** The types of the events that the client has received. */
const events = () =>
  received()
    .match(/"type":"[A-Z]+"/g)
    ?.map((each) => each.slice(8, -1)) ?? [];
const had = (...types: string[]) => eventually(events, types);

describe('a client', () => {
  test('that reads slowly is not disconnected, and gets the events of the meantime', async () => {
    watch();
    hasRoom = false;
    change('one');
    change('two');
    for (hasRoom of [false, true]) {
      jest.advanceTimersByTime(TIMES.writeTimeoutMs - 1);
      response.emit('drain');
    }
    jest.advanceTimersByTime(TIMES.writeTimeoutMs * 2);
    await eventually(() => events().length === 12, true);
    expect(events()).toEqual(['MODIFIED', 'MODIFIED', ...Array(10).fill('BOOKMARK')]);
    expect([stalled, response.destroyed]).toEqual([0, false]);
  });

  test('gets all events in one turn while the kernel takes them', async () => {
    watch();
    hasRoom = false;
    Object.defineProperty(response, 'writableLength', { value: 0 });
    change('one');
    change('two');
    expect(jest.mocked(response.write)).toHaveBeenCalledTimes(2);
    await had('MODIFIED', 'MODIFIED');
  });

  test('that reads nothing for a while is disconnected, and nothing of its watch is left', async () => {
    watch();
    hasRoom = false;
    change('one');
    jest.advanceTimersByTime(TIMES.writeTimeoutMs - 1);
    expect(stalled).toBe(0);
    jest.advanceTimersByTime(1);
    expect([stalled, response.destroyed]).toEqual([1, true]);
    await eventually(() => response.closed, true);
    expect([jest.getTimerCount(), released()]).toEqual([0, 1]);
  });

  test('that disconnects leaves nothing behind, also while the watcher waits for it', async () => {
    watch();
    hasRoom = false;
    change('one');
    (await client).destroy();
    await eventually(() => response.closed, true);
    expect([stalled, jest.getTimerCount(), released()]).toEqual([0, 0, 1]);
  });

  test('that does not read the end of its watch is disconnected after 10 s', async () => {
    hasRoom = false;
    const watcher = watch();
    change('one');
    jest.spyOn(response, 'end').mockImplementation(() => response);
    watcher.end();
    jest.advanceTimersByTime(9_999);
    expect(response.destroyed).toBe(false);
    jest.advanceTimersByTime(1);
    expect([stalled, response.destroyed]).toEqual([0, true]);
  });

  test('that reads the end leaves no timer', async () => {
    watch().end();
    await had('BOOKMARK');
    await eventually(() => response.closed, true);
    expect([jest.getTimerCount(), released()]).toEqual([0, 1]);
  });
});

describe('many events at once', () => {
  const text = 'x'.repeat(10_000);
  const written = () => jest.mocked(response.write).mock.calls.map(([{ length }]) => length);

  /** How many large blocks are free. All of them are taken by this. */
  const free = (blocks: LargeBlocks) =>
    Array.from({ length: 20 }, () => blocks.take()).filter(Boolean).length;

  function makeEvents(): void {
    hasRoom = false;
    for (let n = 0; n < 40; n++) view.set('a/x', objectOf('x', `${n}${text}`));
    view.log.commit();
  }

  test.each([
    ['large batches if there is room for them', false],
    ['small batches otherwise', true],
  ])('are sent in %s', async (_, isFull) => {
    const largeBlocks = new LargeBlocks();
    if (isFull) free(largeBlocks);
    watch({ largeBlocks });
    makeEvents();
    for (let n = 0; n < 20; n++) response.emit('drain');
    await eventually(() => events().length, 40);
    const largest = Math.max(...written());
    expect(largest).toBeLessThanOrEqual(isFull ? WRITE_BLOCK_BYTES : LARGE_BLOCK_BYTES);
    expect(largest > 6 * WRITE_BLOCK_BYTES).toBe(!isFull);
    expect(free(largeBlocks)).toBe(isFull ? 0 : 16);
  });

  test('leave no large block behind when the client disconnects', async () => {
    const largeBlocks = new LargeBlocks();
    watch({ largeBlocks });
    makeEvents();
    response.emit('drain');
    (await client).destroy();
    await eventually(() => response.closed, true);
    expect(free(largeBlocks)).toBe(16);
  });
});

describe('initial events that are not all read', () => {
  /** The first block ends within the object. */
  const large = objectOf('x', 'x'.repeat(500_000));

  test.each([
    ['their state has left the log', () => view.log.clear()],
    ['the view closes', () => view.close(new WrapperError('LimitExceeded', 'no memory'))],
  ])('end with the connection, not with ERROR within an object, when %s', async (_, happens) => {
    readsNothing = true;
    const { codec, resource } = view;
    const position = view.log.end;
    const objects = new OrderedObjects();
    objects.set('x', large);
    watch({ initial: new ViewState({ codec, resource, version: 1n, position }, objects) });
    await had('ADDED');
    happens();
    const incoming = await client;
    await eventually(() => incoming.closed, true);
    expect([incoming.complete, events(), released()]).toEqual([false, ['ADDED'], 1]);
  });
});

describe('an event larger than a block', () => {
  const text = 'x'.repeat(500_000);

  test('waits in the log, so that its client keeps one block of it', async () => {
    readsNothing = true;
    watch();
    change(text);
    await had('MODIFIED');
    const { calls } = jest.mocked(response.write).mock;
    expect(calls).toHaveLength(1);
    expect(calls[0]?.[0].length).toBeLessThanOrEqual(WRITE_BLOCK_BYTES);
    jest.advanceTimersByTime(TIMES.writeTimeoutMs);
    expect([stalled, response.destroyed]).toEqual([1, true]);
  });

  test('is followed by the events of the meantime', async () => {
    watch();
    change(text);
    change('two');
    await had('MODIFIED', 'MODIFIED');
  });

  test('is sent to its end when the watch ends', async () => {
    const watcher = watch();
    change(text);
    watcher.end();
    const incoming = await client;
    await eventually(() => incoming.complete, true);
    expect(events()).toEqual(['MODIFIED', 'BOOKMARK']);
    expect(() =>
      received()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    ).not.toThrow();
  });

  test('ends with the connection, not with ERROR within it, when it has left the log', async () => {
    readsNothing = true;
    watch();
    change(text);
    await had('MODIFIED');
    view.log.clear();
    const incoming = await client;
    await eventually(() => incoming.closed, true);
    expect([incoming.complete, events(), released()]).toEqual([false, ['MODIFIED'], 1]);
  });
});

describe('bookmarks', () => {
  test('are sent at their interval and at the end', async () => {
    watch();
    change('one');
    jest.advanceTimersByTime(TIMES.bookmarkMs);
    await had('MODIFIED', 'BOOKMARK');
    jest.advanceTimersByTime(TIMES.timeoutMs - TIMES.bookmarkMs);
    await eventually(() => response.closed, true);
    await had('MODIFIED', ...Array<string>(60).fill('BOOKMARK'));
  });

  test('are not sent unless requested', async () => {
    watch({ bookmarks: false });
    change('one');
    jest.advanceTimersByTime(TIMES.timeoutMs);
    await eventually(() => response.closed, true);
    await had('MODIFIED');
  });

  test('are not sent while a client reads nothing, and never before older events', async () => {
    watch();
    hasRoom = false;
    change('one');
    change('two');
    jest.advanceTimersByTime(TIMES.bookmarkMs * 3);
    hasRoom = true;
    response.emit('drain');
    jest.advanceTimersByTime(TIMES.bookmarkMs);
    await had('MODIFIED', 'MODIFIED', 'BOOKMARK');
  });
});
