import { PassThrough, Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createBody, readBody, readBuffers } from '../../../src/client/upstream/upstream-body.ts';
import { eventually } from '../../support/eventually.ts';

const GZIP = { 'content-encoding': 'gzip' };
const PLAIN_OR_GZIP = [
  ['plain', {}],
  ['gzip', GZIP],
] as const;

/** A response whose body is the source. */
function responseOf(source: Readable, headers: Readonly<Record<string, string>> = {}) {
  const body = createBody(source, { onBytes: () => {}, explain: (error) => error });
  return { headers, body };
}

/** The same bytes in chunks of this size. */
function cut(bytes: Buffer, size: number): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
  return chunks;
}

describe('readBody()', () => {
  // An API server 1.37 writes one gzip member for each flush.
  test('joins the chunks, whatever their sizes, plain or in any number of gzip members', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 300 }),
        fc.integer({ min: 1, max: 40 }),
        fc.option(fc.integer({ min: 1, max: 100 })),
        async (bytes, size, memberBytes) => {
          const plain = Buffer.from(bytes);
          const members = cut(plain, memberBytes ?? 1).map((part) => gzipSync(part));
          const isGzip = memberBytes !== null && members.length > 0;
          const sent = isGzip ? Buffer.concat(members) : plain;
          const response = responseOf(Readable.from(cut(sent, size)), isGzip ? GZIP : {});
          expect(await readBody(response, bytes.length)).toEqual(Buffer.from(bytes));
        },
      ),
    );
  });

  test.each<[string, Record<string, string>, () => Iterable<Buffer>]>([
    ['is larger than the limit', {}, () => cut(Buffer.alloc(18), 6)],
    ['declares a larger length', { 'content-length': '12' }, () => [Buffer.alloc(1)]],
    ['declares it, and is gzip', { 'content-length': '12', ...GZIP }, () => [Buffer.alloc(1)]],
    [
      'is gzip without end',
      GZIP,
      function* () {
        const member = gzipSync(Buffer.alloc(1_000_000));
        for (;;) yield member;
      },
    ],
  ])('refuses a body that %s, and ends its request', async (_what, headers, chunks) => {
    const source = Readable.from(chunks());
    const read = readBody(responseOf(source, headers), 11);
    await expect(read).rejects.toMatchObject({ code: 'TooLarge' });
    await eventually(() => source.destroyed, true);
  });

  test.each([
    ['no gzip at all', 'Malformed', Buffer.from('plain')],
    ['cut off', 'Unreachable', gzipSync('x'.repeat(1000)).subarray(0, 15)],
  ])('refuses gzip that is %s as %s', async (_, code, bytes) => {
    const response = responseOf(Readable.from([bytes]), GZIP);
    await expect(readBody(response, 10_000)).rejects.toMatchObject({ code });
  });
});

describe('readBuffers()', () => {
  test.each(PLAIN_OR_GZIP)(
    'reports bytes before it keeps them, and ends the request at what is thrown: %s',
    async (_, headers) => {
      const bytes = Buffer.alloc(5_000_000);
      const sent = 'content-encoding' in headers ? gzipSync(bytes) : bytes;
      const source = Readable.from(cut(sent, 500));
      let reported = 0;
      const onBytes = (length: number): void => {
        reported += length;
        if (reported > 2_000_000) throw new Error('no room');
      };
      const read = readBuffers(responseOf(source, headers), { maxBytes: 1e9, onBytes });
      await expect(read).rejects.toThrow('no room');
      expect(reported).toBeLessThan(3_500_000);
      await eventually(() => source.destroyed, true);
    },
  );

  test('has all of a gzip of several MB, whose memory it does not copy', async () => {
    const plain = Buffer.from(Array.from({ length: 500_000 }, (_, at) => at).join());
    const source = Readable.from(cut(gzipSync(plain), 10_000));
    const buffers = await readBuffers(responseOf(source, GZIP), { maxBytes: 1e9 });
    expect(Buffer.concat(buffers).equals(plain)).toBe(true);
    expect(buffers.map(({ length }) => length).slice(0, -1)).toEqual([2 ** 20, 2 ** 20, 2 ** 20]);
  });

  test('keeps no network buffer, and no buffer of more than 1 MB', async () => {
    const chunks = cut(Buffer.alloc(3_000_000, 7), 65_536);
    const buffers = await readBuffers(responseOf(Readable.from(chunks)), { maxBytes: 1e9 });
    expect(Buffer.concat(buffers).equals(Buffer.concat(chunks))).toBe(true);
    const whole = new Set(chunks.map(({ buffer }) => buffer));
    for (const piece of buffers) {
      expect(whole.has(piece.buffer)).toBe(false);
      expect(piece.buffer.byteLength).toBeLessThanOrEqual(1024 * 1024);
    }
  });
});

describe('a body', () => {
  /** Reads a body, and records the chunks of each turn. */
  function reading() {
    const source = new PassThrough();
    const turns: string[][] = [];
    const read = responseOf(source).body.read((chunks) => void turns.push(chunks.map(String)));
    return { source, turns, read };
  }

  test('hands over what has arrived in one turn together, once the turn ends', async () => {
    const { source, turns, read } = reading();
    await nextTurn();
    source.write('a');
    source.write('b');
    expect(turns).toEqual([]);
    await nextTurn();
    source.end('c');
    await read;
    expect(turns).toEqual([['a', 'b'], ['c']]);
  });

  test('ends with what its reader throws, hands over nothing after it, and ends the request', async () => {
    const source = new PassThrough();
    const seen: string[] = [];
    const read = responseOf(source).body.read((chunks) => {
      seen.push(...chunks.map(String));
      throw new Error('unusable');
    });
    source.write('a');
    await expect(read).rejects.toThrow('unusable');
    source.write('b');
    await nextTurn();
    expect([seen, source.destroyed]).toEqual([['a'], true]);
  });

  test('hands over each chunk once and in order, wherever turns and the body end', async () => {
    const history = fc.array(fc.constantFrom('chunk', 'turn'), { maxLength: 20, size: 'max' });
    await fc.assert(
      fc.asyncProperty(history, fc.boolean(), async (steps, breaks) => {
        const { source, turns, read } = reading();
        await nextTurn();
        const all: string[] = [];
        for (const [index, step] of steps.entries()) {
          if (step === 'turn') await nextTurn();
          else {
            all.push(String(index));
            source.write(String(index));
          }
        }
        if (breaks) source.destroy(new Error('reset'));
        else source.end();
        const end = await read.catch(({ message }) => message);
        expect([turns.flat(), end]).toEqual([all, breaks ? 'reset' : undefined]);
      }),
    );
  });

  test.each(
    PLAIN_OR_GZIP.flatMap(([form, headers]) => [
      [form, 'breaks', headers, new Error('reset')] as const,
      [form, 'is closed before its end', headers, undefined] as const,
    ]),
  )('in %s that %s throws the explained error', async (_form, _what, headers, error) => {
    const source = new PassThrough();
    const explained = new Error('explained');
    const body = createBody(source, { onBytes: () => {}, explain: () => explained });
    const isGzip = 'content-encoding' in headers;
    const read = isGzip ? readBuffers({ headers, body }, { maxBytes: 100 }) : body.read(() => {});
    source.write(gzipSync('x').subarray(0, 5));
    await nextTurn();
    source.destroy(error);
    await expect(read).rejects.toBe(explained);
  });
});
