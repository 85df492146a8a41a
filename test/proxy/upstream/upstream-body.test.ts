import { PassThrough, type Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createBody, readBody, readBuffers } from '../../../src/proxy/upstream/upstream-body.ts';
import { eventually } from '../../support/eventually.ts';

/** Feeds these chunks, and tells how many were taken and whether the reader let go. */
function feed(...chunks: Uint8Array[]) {
  const state = { taken: 0, released: false };
  async function* body(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (const chunk of chunks) {
        state.taken++;
        yield chunk;
      }
    } finally {
      state.released = true;
    }
  }
  return { body: body(), state };
}

/** The same bytes in chunks of this size. */
function cut(bytes: Buffer, size: number): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
  return chunks;
}

const GZIP = { 'content-encoding': 'gzip' };

describe('readBody()', () => {
  test('joins the chunks, whatever their sizes, gzipped or not', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 300 }),
        fc.integer({ min: 1, max: 40 }),
        fc.boolean(),
        async (bytes, size, zipped) => {
          const sent = zipped ? gzipSync(bytes) : Buffer.from(bytes);
          const { body } = feed(...cut(sent, size));
          const read = await readBody(body, bytes.length, zipped ? GZIP : {});
          expect(read).toEqual(Buffer.from(bytes));
        },
      ),
    );
  });

  test('refuses more bytes than the limit before it reads another chunk', async () => {
    const { body, state } = feed(Buffer.alloc(6), Buffer.alloc(6), Buffer.alloc(6));
    await expect(readBody(body, 11)).rejects.toMatchObject({ code: 'TooLarge' });
    expect(state).toEqual({ taken: 2, released: true });
  });

  test.each([
    ['plain', {}],
    ['gzip', GZIP],
  ])('refuses a declared length above the limit at the first chunk: %s', async (_, encoding) => {
    const { body, state } = feed(Buffer.alloc(1), Buffer.alloc(1));
    const headers = { 'content-length': '12', ...encoding };
    await expect(readBody(body, 11, headers)).rejects.toMatchObject({ code: 'TooLarge' });
    expect(state).toEqual({ taken: 1, released: true });
  });

  test('counts decompressed bytes, and ends a body that would never end', async () => {
    let released = false;
    async function* endless(): AsyncGenerator<Uint8Array, void, undefined> {
      const member = gzipSync(Buffer.alloc(1_000_000));
      try {
        for (;;) yield member;
      } finally {
        released = true;
      }
    }
    await expect(readBody(endless(), 5_000_000, GZIP)).rejects.toMatchObject({ code: 'TooLarge' });
    await eventually(() => released, true);
  });

  test.each([
    ['no gzip at all', 'Malformed', Buffer.from('plain')],
    ['cut off', 'Unreachable', gzipSync('x'.repeat(1000)).subarray(0, 15)],
  ])('refuses gzip that is %s as %s', async (_, code, bytes) => {
    const { body } = feed(bytes);
    await expect(readBody(body, 10_000, GZIP)).rejects.toMatchObject({ code });
  });

  test.each([
    ['plain', {}],
    ['gzip', GZIP],
  ])('throws the error of a %s body', async (_, headers) => {
    const failure = new Error('reset');
    async function* failing(): AsyncGenerator<Uint8Array, void, undefined> {
      yield gzipSync('x').subarray(0, 5);
      throw failure;
    }
    await expect(readBody(failing(), 100, headers)).rejects.toBe(failure);
  });
});

describe('readBuffers()', () => {
  test.each([
    ['plain', {}],
    ['gzip', GZIP],
  ])(
    'tells of bytes before it keeps them, and ends the request at what is thrown: %s',
    async (_, headers) => {
      const bytes = Buffer.alloc(5_000_000);
      const sent = 'content-encoding' in headers ? gzipSync(bytes) : bytes;
      const { body, state } = feed(...cut(sent, 500));
      let told = 0;
      const onBytes = (length: number): void => {
        told += length;
        if (told > 2_000_000) throw new Error('no room');
      };
      const read = readBuffers(body, { maxBytes: 1e9, headers, onBytes });
      await expect(read).rejects.toThrow('no room');
      expect(told).toBeLessThan(3_500_000);
      await eventually(() => state.released, true);
    },
  );

  test('keeps no network buffer, and no buffer of more than 1 MB', async () => {
    const chunks = cut(Buffer.alloc(3_000_000, 7), 65_536);
    const buffers = await readBuffers(feed(...chunks).body, { maxBytes: 1e9 });
    expect(Buffer.concat(buffers).equals(Buffer.concat(chunks))).toBe(true);
    const whole = new Set(chunks.map(({ buffer }) => buffer));
    for (const piece of buffers) {
      expect(whole.has(piece.buffer)).toBe(false);
      expect(piece.buffer.byteLength).toBeLessThanOrEqual(1024 * 1024);
    }
  });
});

describe('each()', () => {
  const bodyOf = (source: Readable) =>
    createBody(source, {
      onBytes: () => {},
      explain: (error) => new Error('explained', { cause: error }),
    });

  test('calls back with a chunk in the turn in which it arrives', () => {
    const source = new PassThrough();
    const chunks: string[] = [];
    void bodyOf(source).each((chunk) => void chunks.push(chunk.toString()));
    source.resume();
    source.write('a');
    expect(chunks).toEqual(['a']);
    source.end();
  });

  test('throws what its reader throws, delivers nothing after that, and ends the request', async () => {
    const source = new PassThrough();
    let taken = 0;
    const read = bodyOf(source).each(() => {
      taken++;
      throw new Error('enough');
    });
    source.write('a');
    source.write('b');
    await expect(read).rejects.toThrow('enough');
    expect(taken).toBe(1);
    expect(source.destroyed).toBe(true);
  });

  test.each([
    ['breaks', new Error('reset')],
    ['is closed before its end', undefined],
  ])('throws the explained error when the body %s', async (_, error) => {
    const source = new PassThrough();
    const read = bodyOf(source).each(() => {});
    source.destroy(error);
    await expect(read).rejects.toThrow('explained');
  });
});
