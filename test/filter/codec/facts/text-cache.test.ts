import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { TextCache } from '../../../../src/filter/codec/facts/text-cache.ts';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function read(texts: TextCache, bytes: Uint8Array, onDecode = (): void => {}): string {
  // With other bytes on both sides, as in a message.
  const around = Uint8Array.from([0x61, ...bytes, 0x62]);
  return texts.read(around, 1, 1 + bytes.length, () => {
    onDecode();
    return decoder.decode(bytes);
  });
}

describe('TextCache', () => {
  test('returns the decoded text for any bytes, whatever it has read before', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 3 }),
      fc.uint8Array({ maxLength: 200 }),
      fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => Buffer.from(text)),
      fc.integer({ min: 0, max: 30_000 }).map((n) => Buffer.from(`node-${n}`)),
    );
    const texts = new TextCache();
    fc.assert(
      fc.property(fc.array(bytes), (sequence) => {
        for (const one of [...sequence, ...sequence]) {
          expect(read(texts, one)).toBe(decoder.decode(one));
        }
      }),
    );
  });

  test('decodes a repeated name once', () => {
    const texts = new TextCache();
    let decoded = 0;
    for (let i = 0; i < 100; i++) read(texts, Buffer.from('node-7'), () => decoded++);
    expect(decoded).toBe(1);
  });

  test('decodes a text that is not ASCII each time', () => {
    const texts = new TextCache();
    let decoded = 0;
    const names = [Buffer.from('größe'), Buffer.from([0xff]), Buffer.from([0xe9])];
    for (const name of [...names, ...names]) read(texts, name, () => decoded++);
    expect(decoded).toBe(6);
  });
});
