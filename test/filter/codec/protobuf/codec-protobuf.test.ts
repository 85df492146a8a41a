import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { describe, expect, test } from '@jest/globals';
import type { Edit } from '../../../../src/filter/codec/codec.ts';
import { ProtobufCodec } from '../../../../src/filter/codec/protobuf/protobuf-codec.ts';
import {
  ENDPOINT_SLICES,
  ENDPOINTS,
  NODES,
  type Resource,
  SERVICE_CIDRS,
} from '../../../../src/filter/objects/resource.ts';
import { chunked, decodeAll } from '../../../support/codec/codec-fixtures.ts';

const codec = new ProtobufCodec();

/** A length-delimited field in hex: number below 16, content as text or as fields in hex. */
function field(number: number, content: string | Buffer): Buffer {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return Buffer.from(
    new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(bytes).finish(),
  );
}

function fields(...all: Buffer[]): Buffer {
  return Buffer.concat(all);
}

test('an entry of a map may have its value before its key', () => {
  const label = fields(field(2, 'web'), field(1, 'kubernetes.io/service-name'));
  const other = fields(field(2, 'x'), field(1, 'other'));
  const slice = field(1, fields(field(11, label), field(11, other)));
  expect(codec.endpoints(ENDPOINT_SLICES, slice).service).toBe('web');
});

describe('several messages of one object', () => {
  const object = fields(
    field(1, fields(field(6, '1'), field(1, 'a'), field(6, '2'))),
    field(1, fields(field(6, '3'), field(3, 'ns'))),
  );

  test('are read as one, with the last of several values', () => {
    const meta = { namespace: 'ns', name: 'a', uid: '', resourceVersion: '3' };
    expect(codec.meta(object)).toEqual(meta);
  });

  test('have one version after an edit, in place of the first', () => {
    const wanted = fields(
      field(1, fields(field(6, '44'), field(1, 'a'))),
      field(1, field(3, 'ns')),
    );
    expect(codec.edit(ENDPOINT_SLICES, object, { resourceVersion: '44' })).toEqual(wanted);
  });
});

/** Fields of every wire type that no released Kubernetes has. */
const UNKNOWN = Buffer.from(
  new BinaryWriter()
    .tag(200, WireType.Varint)
    .uint64('18446744073709551615')
    .tag(201, WireType.LengthDelimited)
    .string('\u0012\u0000 not a field')
    .tag(202, WireType.Bit64)
    .fixed64('1')
    .tag(203, WireType.Bit32)
    .fixed32(2)
    .finish(),
);

describe('edit()', () => {
  const edit: Edit = { resourceVersion: '44' };
  const mask = (...keep: number[]): Edit => ({ ...edit, keep: Uint8Array.from(keep) });
  const version = field(1, field(6, '44'));
  const address = (number: number, ip: string) => field(number, field(1, ip));
  const empty = field(2, field(3, field(1, 'http')));

  test.each<[string, Buffer, Edit, Buffer, Resource?]>([
    [
      'adds a version to the first metadata',
      fields(field(4, 'IPv4'), field(1, field(1, 'a')), field(1, field(3, 'ns'))),
      edit,
      fields(
        field(4, 'IPv4'),
        field(1, fields(field(1, 'a'), field(6, '44'))),
        field(1, field(3, 'ns')),
      ),
    ],
    [
      'adds metadata to an object without it',
      field(4, 'IPv4'),
      edit,
      fields(field(4, 'IPv4'), version),
    ],
    ['adds metadata to an empty object', Buffer.alloc(0), edit, version],
    [
      'adds metadata behind a last endpoint that it cuts',
      fields(field(2, field(6, 'near')), field(2, field(6, 'far'))),
      mask(1, 0),
      fields(field(2, field(6, 'near')), version),
    ],
    [
      'keeps an overlong length prefix if the length does not change',
      Buffer.from('0a840032023939', 'hex'),
      edit,
      Buffer.from('0a840032023434', 'hex'),
    ],
    [
      'keeps unknown fields of every wire type',
      fields(field(2, 'cut'), UNKNOWN, field(2, fields(field(6, 'near'), UNKNOWN)), version),
      { keep: Uint8Array.of(0, 1), cutHints: true },
      fields(UNKNOWN, field(2, fields(field(6, 'near'), UNKNOWN)), version),
    ],
    [
      'applies the mask to addresses before notReadyAddresses, whatever their order on the wire',
      fields(version, field(2, fields(address(2, 'c'), address(1, 'a'), address(2, 'd')))),
      mask(1, 0, 1),
      fields(version, field(2, fields(address(1, 'a'), address(2, 'd')))),
      ENDPOINTS,
    ],
    [
      'keeps a subset that never had an address',
      fields(empty, field(2, address(1, 'a'))),
      mask(0),
      fields(empty, version),
      ENDPOINTS,
    ],
  ])('%s', (_rule, object, given, wanted, resource = ENDPOINT_SLICES) => {
    expect(codec.edit(resource, object, given).toString('hex')).toBe(wanted.toString('hex'));
  });
});

describe('facts', () => {
  const endpointOf = (endpoint: Buffer) =>
    codec.endpoints(ENDPOINT_SLICES, field(2, fields(field(1, '10.0.0.1'), endpoint))).groups[0]
      ?.endpoints[0];

  test('merge conditions that are split', () => {
    const conditions = ['0800', '1001', '1801'].map((hex) => field(2, Buffer.from(hex, 'hex')));
    expect(endpointOf(fields(...conditions))?.state).toBe('serving');
  });

  test('have addresses before notReadyAddresses, whatever their order on the wire', () => {
    const subset = fields(field(2, field(1, 'c')), field(1, field(1, 'a')));
    const [group] = codec.endpoints(ENDPOINTS, field(2, subset)).groups;
    expect(group?.endpoints.map(({ state }) => state)).toEqual(['ready', 'notReady']);
  });

  test.each([
    ['02', 'ready'],
    ['8080808010', 'ready'],
    ['ffffffffffffffffff01', 'ready'],
    ['808000', 'notReady'],
  ])('read the varint %s as a condition: %s', (hex, state) => {
    expect(endpointOf(field(2, Buffer.from(`08${hex}`, 'hex')))?.state).toBe(state);
  });

  test.each([
    ['a name that is a number', '0a020801'],
    ['a field number 0', '0200'],
    ['a tag that never ends', 'ffffffffffffffffffff01'],
    ['a length beyond the object', '0a05'],
    ['a length of 4 GiB', '0affffffff0f'],
    ['a length beyond its own message', '0a033205310a00'],
    ['wire type 6', '0e'],
    ['wire type 7', '0f'],
    ['an end of a group that never began', '0c'],
    ['a group without end', '0b'],
    ['a group nested without bound', '9b06'.repeat(500)],
    ['a group that is complete', '7b7c'],
  ])('of %s are Malformed', (_, hex) => {
    expect(() => codec.meta(Buffer.from(hex, 'hex'))).toThrow(
      expect.objectContaining({ code: 'Malformed', offset: expect.any(Number) }),
    );
  });
});

describe('decodeList()', () => {
  test('refuses an object that is not a list', () => {
    const body = Buffer.concat(codec.encodeObject(NODES, field(1, field(6, '1'))));
    expect(() => codec.decodeList([body])).toThrow("a list of kind 'Node' at offset 0");
  });

  test('refuses an unknown content encoding', () => {
    const unknown = fields(field(1, field(2, 'NodeList')), field(2, ''), field(3, 'gzip'));
    const body = fields(Buffer.from('k8s\0'), unknown);
    expect(() => codec.decodeList([body])).toThrow('unknown content encoding gzip');
  });

  test('returns the continue token of a chunked list', () => {
    const list = fields(field(1, fields(field(2, '7'), field(3, 'next'))), field(2, ''));
    const body = fields(Buffer.from('k8s\0'), field(1, field(2, 'NodeList')), field(2, list));
    const read = { kind: 'NodeList', resourceVersion: '7', continue: 'next' };
    expect(codec.decodeList([body])).toMatchObject({ ...read, items: [Buffer.alloc(0)] });
  });
});

describe('the encoder', () => {
  test('writes only metadata into a bookmark of another kind', async () => {
    const frame = codec.encodeBookmark(SERVICE_CIDRS, '8', true);
    const [event] = await decodeAll(codec, chunked(frame, []));
    const end = fields(field(1, 'k8s.io/initial-events-end'), field(2, 'true'));
    const meta = `0a340a0012001a0022002a0032013838004200${field(12, end).toString('hex')}`;
    expect(event).toEqual({ type: 'BOOKMARK', object: Buffer.from(meta, 'hex') });
  });

  test('writes a long list without copying its objects', () => {
    const items = Array.from({ length: 500 }, (_, index) =>
      field(1, field(1, `${index}`.padEnd(100))),
    );
    items.push(field(1, field(1, 'x'.repeat(200_000))));
    const withHeads = items.flatMap((item) => [codec.itemHead(item.length), item]);
    const buffers = codec.encodeList(NODES, '1', withHeads);
    expect(items.every((item) => buffers.includes(item))).toBe(true);
    const decoded = codec.decodeList([Buffer.concat(buffers)]).items;
    expect(Buffer.concat(decoded).equals(Buffer.concat(items))).toBe(true);
  });
});
