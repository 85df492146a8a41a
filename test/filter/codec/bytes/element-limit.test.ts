import { describe, expect, test } from '@jest/globals';
import { MAX_ELEMENTS, MAX_JSON_COMMAS } from '../../../../src/filter/codec/bytes/element-limit.ts';
import type { Encoding } from '../../../../src/filter/codec/codec.ts';
import { ENDPOINT_SLICES, ENDPOINTS } from '../../../../src/filter/objects/resource.ts';
import { codecOf } from '../../../support/codec/codec-fixtures.ts';
import { encodeObject } from '../../../support/codec/encode-object.ts';

const metadata = { name: 'many', namespace: 'ns', resourceVersion: '1' };
const empty = (count: number) => Array<object>(count).fill({});

type Row = readonly [
  what: string,
  kind: 'EndpointSlice' | 'Endpoints',
  content: (count: number) => object,
];

const SUBSETS_AND_ADDRESSES: Row = [
  'subsets and addresses',
  'Endpoints',
  (n) => ({ subsets: [...empty(9), { addresses: empty(n - 10) }] }),
];

function expectLimit(encoding: Encoding, [, kind, content]: Row): void {
  const codec = codecOf(encoding);
  const read = (count: number) => {
    const object = encodeObject(encoding, kind, { metadata, ...content(count) });
    return codec.endpoints(kind === 'Endpoints' ? ENDPOINTS : ENDPOINT_SLICES, object);
  };
  expect(read(MAX_ELEMENTS).name).toBe('many');
  expect(() => read(MAX_ELEMENTS + 1)).toThrow(
    expect.objectContaining({
      code: 'TooLarge',
      message: `the object "ns/many" has more than ${MAX_ELEMENTS} endpoints and ports`,
    }),
  );
}

describe('the number of elements of one object', () => {
  test.each<Row>([
    ['endpoints of a slice', 'EndpointSlice', (n) => ({ endpoints: empty(n) })],
    ['ports of a slice', 'EndpointSlice', (n) => ({ ports: empty(n) })],
    ['addresses', 'Endpoints', (n) => ({ subsets: [{ addresses: empty(n - 1) }] })],
    ['others', 'Endpoints', (n) => ({ subsets: [{ notReadyAddresses: empty(n - 1) }] })],
    ['ports of a subset', 'Endpoints', (n) => ({ subsets: [{ ports: empty(n - 1) }] })],
    ['subsets', 'Endpoints', (n) => ({ subsets: empty(n) })],
    SUBSETS_AND_ADDRESSES,
  ])('is limited: %s', (...row) => expectLimit('json', row));

  // The limit is above both encodings, so one row is enough.
  test('is limited in protobuf', () => expectLimit('protobuf', SUBSETS_AND_ADDRESSES));

  test('is limited for JSON of any kind', () => {
    const list = (commas: number) =>
      Buffer.from(JSON.stringify({ kind: 'AList', items: [{ endpoints: empty(commas + 1) }] }));
    const decode = (commas: number) => codecOf('json').decodeList([list(commas)]);
    expect(decode(MAX_JSON_COMMAS).items).toHaveLength(1);
    expect(() => decode(MAX_JSON_COMMAS + 1)).toThrow(
      expect.objectContaining({
        code: 'Malformed',
        message: expect.stringMatching(/^JSON of more/),
      }),
    );
  });
});
