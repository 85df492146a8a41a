import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { describe, expect, test } from '@jest/globals';
import type { Edit } from '../../../src/filter/codec/codec.ts';
import { createProtobufCodec } from '../../../src/filter/codec/protobuf/codec.ts';
import {
  ENDPOINT_SLICES,
  ENDPOINTS,
  NODES,
  type Resource,
  SERVICE_CIDRS,
} from '../../../src/filter/codec/resource.ts';
import { chunked, decodeAll } from '../../support/codec/codec-fixtures.ts';

const codec = createProtobufCodec();

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

function spliceHex(object: Buffer, edit: Edit, resource: Resource = ENDPOINT_SLICES): string {
  return codec.edit(resource, object, edit).toString('hex');
}

describe('an entry of a map', () => {
  test('may have its value before its key', () => {
    const label = fields(field(2, 'web'), field(1, 'kubernetes.io/service-name'));
    const other = fields(field(2, 'x'), field(1, 'other'));
    const slice = field(1, fields(field(11, label), field(11, other)));
    expect(codec.endpointSlice(slice).service).toBe('web');
  });
});

describe('resourceVersion', () => {
  test('is the last of several', () => {
    const object = fields(
      field(1, fields(field(6, '1'), field(1, 'a'), field(6, '2'))),
      field(1, fields(field(6, '3'), field(3, 'ns'))),
    );
    expect(codec.meta(object)).toEqual({
      namespace: 'ns',
      name: 'a',
      uid: '',
      resourceVersion: '3',
    });
  });

  test('occurs once after a splice, at the place of the first', () => {
    const object = fields(
      field(1, fields(field(6, '1'), field(1, 'a'), field(6, '2'))),
      field(1, fields(field(6, '3'), field(3, 'ns'))),
    );
    const wanted = fields(
      field(1, fields(field(6, '44'), field(1, 'a'))),
      field(1, fields(field(3, 'ns'))),
    );
    expect(spliceHex(object, { resourceVersion: '44' })).toBe(wanted.toString('hex'));
  });

  test('is inserted into metadata without one', () => {
    const object = fields(field(4, 'IPv4'), field(1, field(1, 'a')), field(1, field(3, 'ns')));
    const wanted = fields(
      field(4, 'IPv4'),
      field(1, fields(field(1, 'a'), field(6, '44'))),
      field(1, field(3, 'ns')),
    );
    expect(spliceHex(object, { resourceVersion: '44' })).toBe(wanted.toString('hex'));
  });

  test('is inserted with metadata if the object has no metadata', () => {
    const wanted = fields(field(4, 'IPv4'), field(1, field(6, '44')));
    expect(spliceHex(field(4, 'IPv4'), { resourceVersion: '44' })).toBe(wanted.toString('hex'));
    expect(spliceHex(Buffer.alloc(0), { resourceVersion: '44' })).toBe(
      field(1, field(6, '44')).toString('hex'),
    );
  });
});

describe('splice()', () => {
  test('keeps an overlong length prefix if the length does not change', () => {
    const object = Buffer.from('0a8300320139', 'hex');
    expect(spliceHex(object, { resourceVersion: '8' })).toBe('0a8300320138');
  });

  test('applies the mask to addresses before notReadyAddresses, whatever their order on the wire', () => {
    const subset = fields(
      field(2, field(1, 'c')),
      field(1, field(1, 'a')),
      field(2, field(1, 'd')),
    );
    const object = fields(field(1, field(6, '1')), field(2, subset));
    const states = codec
      .endpoints(object)
      .groups.map(({ endpoints }) => endpoints.map(({ state }) => state));
    expect(states).toEqual([['ready', 'notReady', 'notReady']]);
    const edit = { resourceVersion: '1', keep: Uint8Array.of(1, 0, 1) };
    const wanted = fields(
      field(1, field(6, '1')),
      field(2, fields(field(1, field(1, 'a')), field(2, field(1, 'd')))),
    );
    expect(spliceHex(object, edit, ENDPOINTS)).toBe(wanted.toString('hex'));
  });

  test('adds metadata behind a last endpoint that it cuts', () => {
    const object = fields(field(2, field(6, 'near')), field(2, field(6, 'far')));
    const edit = { resourceVersion: '44', keep: Uint8Array.of(1, 0) };
    const wanted = fields(field(2, field(6, 'near')), field(1, field(6, '44')));
    expect(spliceHex(object, edit)).toBe(wanted.toString('hex'));
  });

  test('keeps a subset that never had an address', () => {
    const empty = field(2, field(3, field(1, 'http')));
    const object = fields(empty, field(2, field(1, field(1, 'a'))));
    const edit = { resourceVersion: '1', keep: Uint8Array.of(0) };
    expect(spliceHex(object, edit, ENDPOINTS)).toBe(
      fields(empty, field(1, field(6, '1'))).toString('hex'),
    );
  });
});

describe('facts', () => {
  test('merge conditions that are split', () => {
    const conditions = ['0800', '1001', '1801'].map((hex) => field(2, Buffer.from(hex, 'hex')));
    const object = field(2, fields(...conditions));
    expect(codec.endpointSlice(object).groups[0]?.endpoints[0]?.state).toBe('serving');
  });

  test('read any varint except 0 as true', () => {
    const ready = (hex: string) =>
      codec.endpointSlice(field(2, field(2, Buffer.from(`08${hex}`, 'hex')))).groups[0]
        ?.endpoints[0]?.state;
    expect(ready('02')).toBe('ready');
    expect(ready('8080808010')).toBe('ready');
    expect(ready('ffffffffffffffffff01')).toBe('ready');
    expect(ready('808000')).toBe('notReady');
  });

  test('read the zone from deprecatedTopology if there is no other', () => {
    const topology = field(5, fields(field(1, 'topology.kubernetes.io/zone'), field(2, 'z1')));
    const zone = (endpoint: Buffer) =>
      codec.endpointSlice(field(2, endpoint)).groups[0]?.endpoints[0]?.zone;
    expect(zone(topology)).toBe('z1');
    expect(zone(fields(topology, field(7, 'z2')))).toBe('z2');
    expect(zone(fields(topology, field(7, '')))).toBe('z1');
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
    const body = fields(
      Buffer.from('k8s\0'),
      fields(field(1, field(2, 'NodeList')), field(2, list)),
    );
    expect(codec.decodeList([body])).toEqual({
      kind: 'NodeList',
      resourceVersion: '7',
      continue: 'next',
      items: [Buffer.alloc(0)],
    });
  });
});

describe('the encoder', () => {
  test('writes only metadata into a bookmark of another kind', async () => {
    const frame = codec.encodeBookmark(SERVICE_CIDRS, '8', true);
    const [event] = await decodeAll(codec, chunked(frame, []));
    expect(event).toEqual({
      type: 'BOOKMARK',
      object: Buffer.from(
        `0a340a0012001a0022002a0032013838004200${field(
          12,
          fields(field(1, 'k8s.io/initial-events-end'), field(2, 'true')),
        ).toString('hex')}`,
        'hex',
      ),
    });
  });

  test('writes a long list without copying its objects', () => {
    const items = Array.from({ length: 500 }, (_, index) =>
      field(1, field(1, `${index}`.padEnd(100))),
    );
    items.push(field(1, field(1, 'x'.repeat(200_000))));
    const buffers = codec.encodeList(NODES, '1', items);
    expect(items.every((item) => buffers.includes(item))).toBe(true);
    const decoded = codec.decodeList([Buffer.concat(buffers)]).items;
    expect(Buffer.concat(decoded).equals(Buffer.concat(items))).toBe(true);
  });
});
