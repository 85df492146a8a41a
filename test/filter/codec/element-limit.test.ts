import { describe, expect, test } from '@jest/globals';
import type { Codec, EndpointsFacts } from '../../../src/filter/codec/codec.ts';
import { MAX_ELEMENTS, MAX_JSON_COMMAS } from '../../../src/filter/codec/element-limit.ts';
import { createJsonCodec } from '../../../src/filter/codec/json/codec.ts';
import { createProtobufCodec } from '../../../src/filter/codec/protobuf/codec.ts';

const JSON_META = '"metadata":{"name":"many","namespace":"ns","resourceVersion":"1"}';
const PROTOBUF_META = field(1, fields(field(1, 'many'), field(3, 'ns'), field(6, '1')));

/** A length-delimited protobuf field. */
function field(number: number, content: string | Buffer): Buffer {
  const length = Buffer.byteLength(content);
  const varint: number[] = [];
  let rest = length;
  for (; rest > 0x7f; rest >>>= 7) varint.push((rest & 0x7f) | 0x80);
  return fields(Buffer.from([(number << 3) | 2, ...varint, rest]), Buffer.from(content));
}

function fields(...parts: Buffer[]): Buffer {
  return Buffer.concat(parts);
}

function json(content: string): Buffer {
  return Buffer.from(`{${JSON_META},${content}}`);
}

function items(count: number): string {
  return `[${Array<string>(count).fill('{}').join()}]`;
}

/** Empty fields, of two bytes each. */
function empty(number: number, count: number): Buffer {
  return Buffer.alloc(2 * count, Buffer.from([(number << 3) | 2, 0]));
}

interface Case {
  readonly what: string;
  readonly codec: Codec;
  readonly read: 'endpointSlice' | 'endpoints';
  /** An object with this number of elements. */
  readonly object: (count: number) => Buffer;
}

const CASES: readonly Case[] = [
  ...(
    [
      ['endpoints of a slice', 'endpointSlice', (n) => `"endpoints":${items(n)}`],
      ['ports of a slice', 'endpointSlice', (n) => `"ports":${items(n)}`],
      ['addresses', 'endpoints', (n) => `"subsets":[{"addresses":${items(n - 1)}}]`],
      [
        'addresses, not ready',
        'endpoints',
        (n) => `"subsets":[{"notReadyAddresses":${items(n - 1)}}]`,
      ],
      ['ports of a subset', 'endpoints', (n) => `"subsets":[{"ports":${items(n - 1)}}]`],
      ['subsets', 'endpoints', (n) => `"subsets":${items(n)}`],
    ] satisfies [string, Case['read'], (count: number) => string][]
  ).map(
    ([what, read, content]): Case => ({
      what,
      read,
      codec: createJsonCodec(),
      object: (count) => json(content(count)),
    }),
  ),
  ...(
    [
      ['endpoints of a slice', 'endpointSlice', (n) => empty(2, n)],
      ['ports of a slice', 'endpointSlice', (n) => empty(3, n)],
      ['addresses', 'endpoints', (n) => field(2, empty(1, n - 1))],
      ['addresses, not ready', 'endpoints', (n) => field(2, empty(2, n - 1))],
      ['ports of a subset', 'endpoints', (n) => field(2, empty(3, n - 1))],
      ['subsets', 'endpoints', (n) => empty(2, n)],
      [
        'subsets and addresses',
        'endpoints',
        (n) => fields(empty(2, 9), field(2, empty(1, n - 10))),
      ],
    ] satisfies [string, Case['read'], (count: number) => Buffer][]
  ).map(
    ([what, read, content]): Case => ({
      what,
      read,
      codec: createProtobufCodec(),
      object: (count) => fields(PROTOBUF_META, content(count)),
    }),
  ),
];

describe('the number of elements of one object', () => {
  test.each(CASES)('is limited: $what ($codec.encoding)', ({ codec, read, object }) => {
    const facts: EndpointsFacts = codec[read](object(MAX_ELEMENTS));
    expect(facts.name).toBe('many');
    expect(() => codec[read](object(MAX_ELEMENTS + 1))).toThrow(
      expect.objectContaining({
        code: 'TooLarge',
        message: `the object "ns/many" has more than ${MAX_ELEMENTS} endpoints and ports`,
      }),
    );
  });

  test('is limited for JSON of any kind', () => {
    const codec = createJsonCodec();
    const object = (commas: number) => json(`"endpoints":${items(commas - 2)}`);
    const list = (commas: number) =>
      Buffer.concat([Buffer.from('{"kind":"AList","items":['), object(commas), Buffer.from(']}')]);
    expect(codec.decodeList([list(MAX_JSON_COMMAS)]).items).toHaveLength(1);
    expect(() => codec.decodeList([list(MAX_JSON_COMMAS + 1)])).toThrow(
      expect.objectContaining({
        code: 'Malformed',
        message: expect.stringMatching(/^JSON of more/),
      }),
    );
  });
});
