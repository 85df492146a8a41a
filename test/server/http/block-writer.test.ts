import { EventEmitter } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { writeBlocks } from '../../../src/server/http/block-writer.ts';
import {
  LARGE_BLOCK_BYTES,
  LargeBlocks,
  WRITE_BLOCK_BYTES,
} from '../../../src/server/http/large-blocks.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const TIMEOUT = { writeTimeoutMs: 60_000 };

/** Every four bytes differ, so that a block in the wrong place is detected. */
function pattern(bytes: number, seed: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  for (let i = 0; i + 4 <= bytes; i += 4) buffer.writeUInt32LE((i + seed) >>> 0, i);
  return buffer;
}

describe('writeBlocks()', () => {
  let answer: (response: ServerResponse, path: string) => void = () => {};
  const server = createServer((request, response) => answer(response, request.url ?? ''));
  let port = 0;

  beforeEach(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });

  afterEach(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  });

  const bytesOf = (buffers: readonly Buffer[]): number =>
    buffers.reduce((sum, { length }) => sum + length, 0);
  const endWith = (response: ServerResponse, buffers: readonly Buffer[]): void => {
    const bytes = bytesOf(buffers);
    response.setHeader('content-length', bytes);
    writeBlocks(response, { ...TIMEOUT, buffers, bytes });
  };
  const goOnAfter = (response: ServerResponse, buffers: readonly Buffer[]): void => {
    const listeners = response.listenerCount('close');
    writeBlocks(response, {
      ...TIMEOUT,
      buffers: buffers.values(),
      bytes: bytesOf(buffers) + 100,
      onWritten: () => response.end(String(response.listenerCount('close') - listeners)),
    });
  };

  test.each([
    ['ends the response', endWith, ''],
    ['goes on with the response, to which nothing is left', goOnAfter, '0'],
  ])('sends the buffers in order, whatever their sizes, and %s', async (_, write, end) => {
    // Below half a block they are copied, and several do not fit into one.
    const copied = fc.integer({ min: 8_000, max: 16_000 });
    const size = fc.oneof(fc.nat(2_000), copied, fc.integer({ min: 0, max: 700_000 }));
    const sizes = fc.array(size, { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(sizes, async (lengths) => {
        const buffers = lengths.map((length, index) => pattern(length, index * 7_919));
        answer = (response) => write(response, buffers);
        const response = await fetch(`http://127.0.0.1:${port}/`);
        const body = Buffer.from(await response.arrayBuffer());
        expect(body.equals(Buffer.concat([...buffers, Buffer.from(end)]))).toBe(true);
      }),
      { numRuns: propertyRuns(25) },
    );
  });

  test('writes a small body at once, as one record of TLS', () => {
    const written: number[] = [];
    const response = Object.assign(new EventEmitter(), {
      destroyed: false,
      write: (block: Buffer, onRead: () => void) => {
        written.push(block.length);
        onRead();
      },
      end: () => {},
    });
    const buffers = [pattern(20, 0), pattern(2_000, 1), pattern(8, 2)];
    writeBlocks(response as unknown as ServerResponse, { ...TIMEOUT, buffers, bytes: 2_028 });
    expect(written).toEqual([2_028]);
  });

  test('sends a body correctly that waits for the response to an earlier request of its connection', async () => {
    const buffers = [pattern(400_000, 1), pattern(400_000, 2), pattern(400_000, 3)];
    const bytes = 1_200_000;
    let first: ServerResponse | undefined;
    answer = (response, path) => {
      if (path === '/first') {
        first = response;
        return;
      }
      response.setHeader('content-length', bytes);
      writeBlocks(response, { ...TIMEOUT, buffers, bytes });
      setTimeout(() => first?.end('first'), 20);
    };
    const socket = connect(port, '127.0.0.1');
    socket.write('GET /first HTTP/1.1\r\nHost: x\r\n\r\n');
    socket.write('GET /second HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).subarray(-bytes).equals(Buffer.concat(buffers))).toBe(true);
  });

  describe('large blocks', () => {
    /** A response whose client reads when `read` is called. */
    function setUp(largeBlocks: LargeBlocks) {
      const sizes: number[] = [];
      let onRead = (): void => {};
      const response = Object.assign(new EventEmitter(), {
        destroyed: false,
        write: (block: Buffer, done: () => void) => {
          sizes.push(block.length);
          onRead = done;
        },
        end: () => {},
      });
      const body = pattern(3 * LARGE_BLOCK_BYTES, 1);
      const buffers = Array.from({ length: 96 }, (_, n) => body.subarray(n * 8192, (n + 1) * 8192));
      writeBlocks(response as unknown as ServerResponse, {
        ...TIMEOUT,
        buffers,
        bytes: body.length,
        largeBlocks,
      });
      return { response, sizes, read: () => onRead() };
    }
    const [small, large] = [WRITE_BLOCK_BYTES, LARGE_BLOCK_BYTES];

    test('are taken while some are free, until all is written', () => {
      const blocks = new LargeBlocks();
      const all = Array.from({ length: 17 }, () => setUp(blocks));
      expect(all.map(({ sizes }) => sizes.at(-1))).toEqual([...Array(16).fill(large), small]);
      const [first] = all;
      for (let n = 0; n < 3; n++) first?.read();
      expect(first?.sizes).toEqual([large, large, large]);
      all.push(setUp(blocks));
      expect(all.at(-1)?.sizes).toEqual([large]);
      for (const { response } of all) response.emit('close');
    });

    test('are given back when the client disconnects', () => {
      const blocks = new LargeBlocks();
      const all = Array.from({ length: 16 }, () => setUp(blocks));
      expect(blocks.take()).toBeUndefined();
      for (const { response } of all) response.emit('close');
      const taken = Array.from({ length: 17 }, () => blocks.take());
      expect(taken.indexOf(undefined)).toBe(16);
    });
  });

  test('stops copying when the client disconnects', async () => {
    let reads = 0;
    const chunk = pattern(200_000, 1);
    const buffers = function* () {
      for (; reads < 500; reads++) yield chunk;
    };
    const gone = new Promise<void>((resolve) => {
      answer = (response) => {
        response.once('close', resolve);
        writeBlocks(response, { ...TIMEOUT, buffers: buffers(), bytes: 500 * chunk.length });
      };
    });
    const socket = connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise((resolve) => socket.once('data', resolve));
    socket.destroy();
    await gone;
    const then = reads;
    expect(then).toBeLessThan(500);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(reads).toBe(then);
  });

  test.each([
    ['a block in 500 ms, faster than 512 kbit/s, is waited for', 500, 0],
    ['a block in 900 ms, slower, though it never stops, is disconnected', 900, 1],
    ['nothing is disconnected', undefined, 1],
  ])('a client that reads %s', (_how, readMs, disconnected) => {
    jest.useFakeTimers();
    let stalled = 0;
    const response = Object.assign(new EventEmitter(), {
      destroyed: false,
      write: (_block: Buffer, onRead: () => void) => readMs && setTimeout(onRead, readMs),
      end: () => {},
      destroy: () => {
        response.destroyed = true;
      },
    });
    const bytes = 40 * WRITE_BLOCK_BYTES;
    writeBlocks(response as unknown as ServerResponse, {
      writeTimeoutMs: 1_000,
      onTimeout: () => stalled++,
      buffers: [Buffer.alloc(bytes)],
      bytes,
    });
    jest.advanceTimersByTime(60_000);
    jest.useRealTimers();
    expect([response.destroyed, stalled]).toEqual([disconnected > 0, disconnected]);
  });
});
