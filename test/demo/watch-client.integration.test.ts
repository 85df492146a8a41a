import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { watchSlices } from '../../demo/watch-client.ts';
import { type ApiServer, createApiServer } from '../../embedded/api-server.ts';
import { eventually } from '../support/eventually.ts';

let server: ApiServer;
let url: string;

beforeEach(async () => {
  server = createApiServer({ bookmarkIntervalMs: 5 });
  addSlice('web-1', '10.0.0.1');
  url = await server.listen();
});

afterEach(() => server.close());

function addSlice(name: string, address: string): void {
  server.create('endpointslices', {
    metadata: { name, namespace: 'default' },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address] }],
  } as never);
}

/** A wait without waiting, which records what it was asked for. */
function recordWaits(onWait: (waited: number) => void = () => {}) {
  const waits: number[] = [];
  const wait = async (ms: number): Promise<void> => {
    waits.push(ms);
    onWait(waits.length);
  };
  return { waits, wait };
}

describe('watchSlices()', () => {
  // With 10,000 Services the wrapper answered 503 while it read them, and the demo crashed.
  test('obeys the Retry-After of 503 and 429 until the first list is complete', async () => {
    let admit = server.refuse(() => true, 503, { retryAfterSeconds: 3 });
    const { waits, wait } = recordWaits((count) => {
      admit();
      if (count === 1) admit = server.refuse(() => true, 429, { retryAfterSeconds: 60 });
    });
    const client = await watchSlices(url, { wait });
    expect([...client.shown]).toEqual([['default/web-1', new Set(['10.0.0.1'])]]);
    expect(waits).toEqual([3_000, 10_000]);
    await client.close();
  });

  test('gives up after two minutes, with what the wrapper said', async () => {
    server.refuse(() => true, 503, { retryAfterSeconds: 10 });
    const { waits, wait } = recordWaits();
    await expect(watchSlices(url, { wait })).rejects.toThrow(/answers the watch with 503: .+/);
    expect(waits).toHaveLength(12);
  });

  test.each([403, 503])('gives up at %i without Retry-After', async (code) => {
    server.refuse(() => true, code);
    const { waits, wait } = recordWaits();
    await expect(watchSlices(url, { wait })).rejects.toThrow(`answers the watch with ${code}`);
    expect(waits).toEqual([]);
  });

  // It once stopped silently, and the table showed an old state.
  test('lists again when its stream ends, and then has no slice that was deleted meanwhile', async () => {
    const { wait } = recordWaits((count) => {
      if (count > 1) return;
      server.delete('endpointslices', 'web-1');
      addSlice('web-2', '10.0.0.2');
    });
    const client = await watchSlices(url, { wait });
    server.cutWatches();
    await eventually(async () => [...client.shown.keys()], ['default/web-2']);
    await client.close();
  });

  test('calls its listener for changes, not for the first list and not for bookmarks', async () => {
    const client = await watchSlices(url);
    const seen: string[][] = [];
    client.subscribe(() => seen.push([...client.shown.keys()]));
    // Several bookmarks have been sent when a change arrives after 50 ms.
    await new Promise((resolve) => setTimeout(resolve, 50));
    addSlice('web-2', '10.0.0.2');
    await eventually(async () => seen, [['default/web-1', 'default/web-2']]);
    await client.close();
  });
});
