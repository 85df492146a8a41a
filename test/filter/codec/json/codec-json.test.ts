import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { JsonCodec } from '../../../../src/filter/codec/json/json-codec.ts';
import {
  ENDPOINT_SLICES,
  ENDPOINTS,
  NODES,
  SERVICE_CIDRS,
} from '../../../../src/filter/objects/resource.ts';
import { chunked, decodeAll } from '../../../support/codec/codec-fixtures.ts';
import { semanticBytes } from '../../../support/codec/semantic-bytes.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

const EMPTY_GROUP = { ports: [], numbers: [], endpoints: [], addresses: [] };

const codec = new JsonCodec();
const VERSION = { resourceVersion: '9' };
const MALFORMED = expect.objectContaining({ code: 'Malformed', offset: expect.any(Number) });

/** A key with a backslash: Kubernetes allows none, see parseObject. */
const BACKSLASH_KEY = /\\\\(?:[^"\\]|\\.)*":/;

const edit = (json: string, keep?: number[]): string =>
  codec
    .edit(ENDPOINT_SLICES, Buffer.from(json), {
      ...VERSION,
      ...(keep === undefined ? {} : { keep: Uint8Array.from(keep) }),
    })
    .toString();
const facts = (json: string) => codec.endpoints(ENDPOINT_SLICES, Buffer.from(json));
const list = (...items: string[]) => Buffer.from(`{"kind":"NodeList","items":[${items}]}`);
const eventsOf = (stream: string) => decodeAll(codec, chunked(Buffer.from(stream), []));

/** An object after a LIST, a watch event, an edit and without noise. */
async function passedOn(json: string): Promise<string[]> {
  const events = await eventsOf(`{"type":"ADDED","object":${json}}\n`);
  return [
    ...codec.decodeList([list(json)]).items,
    ...events.flatMap((each) => ('object' in each ? [each.object] : [])),
    edit(json),
    semanticBytes(codec, Buffer.from(json)),
  ].map(String);
}

describe('edit()', () => {
  test.each([
    ['to other metadata', '{"metadata":{"name":"a"}}', { name: 'a' }],
    ['to empty metadata', '{"metadata": { }}', {}],
    ['in place of null metadata', '{"metadata":null}', {}],
    ['with metadata to an object without it', '{"a":1}', {}],
    ['with metadata to an empty object', '{ }', {}],
    ['in place of null', '{"metadata":{"resourceVersion":null}}', {}],
  ])('adds a missing version %s', (_, json, metadata) => {
    const wanted = { ...JSON.parse(json), metadata: { ...metadata, ...VERSION } };
    expect(JSON.parse(edit(json))).toEqual(wanted);
  });

  test('cuts a null endpoint as one with default values, as Go does', () => {
    const json = '{"metadata":{"resourceVersion":"9"},"endpoints":[null,{}]}';
    expect(facts(json).groups[0]?.endpoints).toHaveLength(2);
    expect(edit(json, [0, 1])).toBe(json.replace('null,', ''));
    expect(edit(json, [1, 0])).toBe(json.replace(',{}', ''));
  });

  test('changes the last of several members with one name, and cuts the others', () => {
    const json =
      '{"endpoints":[{"zone":"far"}],"metadata":{"name":"x","resourceVersion":"1"},"future":[1],' +
      '"metadata":{"resourceVersion":"2","name":"a","resourceVersion":"3"},"endpoints":[{},{}]}';
    expect(facts(json)).toMatchObject({ name: 'a', groups: [{ endpoints: [{}, {}] }] });
    // Go's parser merges such objects. It must not find the members that the last one replaces.
    expect(edit(json, [1, 0])).toBe(
      '{"endpoints":[{}],"metadata":{"resourceVersion":"9","name":"a"},"future":[1]}',
    );
  });

  test('leaves every other value as it is', () => {
    const slice = (endpoints: string, version: string) =>
      `{"a":"\\u003c\\/\\ud800","metadata":{"n":1.50e1,"resourceVersion":"${version}"},"endpoints":[${endpoints}], "b" : [ ] }`;
    const [first, second, third] = ['{"zone":"\\u0061"}', '{"x":1e400}', '{"zone":"<"}'];
    const edited = edit(slice(`${first},${second} ,${third}`, '12'), [0, 1, 0]);
    expect(JSON.parse(edited)).toEqual(JSON.parse(slice(second, '9')));
    expect(edited).toContain('"endpoints":[{"x":1e400}]');
  });

  test('changes a member whose name has escapes', () => {
    const object = '{"met\\u0061data":{"n\\u0061me":"x","resourceVersion":"1"}}';
    expect(codec.meta(Buffer.from(object)).name).toBe('x');
    expect(edit(object)).toBe('{"metadata":{"name":"x","resourceVersion":"9"}}');
  });

  test.each(['\\n', ':1', '\ue000'])('does not overflow the stack with 16 MB of %j', (part) => {
    const value = part.repeat(16e6 / Buffer.byteLength(part));
    const object = `{"metadata":{"name":"x","annotations":{"\\\\":"${value}"}}}`;
    expect(edit(object).length).toBeGreaterThan(value.length);
  });
});

test('a number that JavaScript cannot represent keeps its digits', async () => {
  const integers = fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }).map(String);
  const others = ['9007199254740993', '0.12345678901234567890', '-1E-400', '1234567890.10E+300'];
  await fc.assert(
    fc.asyncProperty(integers, async (digits) => {
      const members = `"a":${digits},"b":[0,${digits}],"c":[{"d":${digits}}]`;
      const passed = await passedOn(`{${members}}`);
      expect(passed.filter((each) => !each.includes(members))).toEqual([]);
    }),
    { examples: others.map((digits) => [digits]) },
  );
  const ports = (port: string) => facts(`{"ports":[{"port":${port}}]}`).groups[0]?.ports;
  expect(['8e1', '0e5', '80.000000000000000'].map(ports)).toEqual([['TCP/'], [], ['TCP/']]);
});

test.each(['__proto__', 'toString'])('%s is an ordinary key', async (key) => {
  const json = `{"${key}":{"endpoints":[{}],"a":1},"metadata":{"labels":{"${key}":"x"},"${key}":{"b":2}}}`;
  for (const passed of await passedOn(json)) {
    expect(passed).toContain(`"${key}":{"endpoints":[{}],"a":1}`);
    expect(codec.partialMetadata(Buffer.from(passed)).labels).toEqual(new Map([[key, 'x']]));
    expect(facts(passed).groups).toEqual([EMPTY_GROUP]);
  }
});

describe('facts', () => {
  test.each(['{}', '{"endpoints":null,"ports":null,"metadata":null}', '{"endpoints":[]}'])(
    'of %s are empty',
    (json) => {
      const meta = { namespace: '', name: '', uid: '', resourceVersion: '' };
      const groups = [EMPTY_GROUP];
      expect(facts(json)).toEqual({ ...meta, service: '', hinted: false, groups });
    },
  );

  test('are found in any valid JSON', () => {
    const json =
      '{"a":[0,-0,-1.5E+10,1e-7,true,false,null,"",{}, [] ,"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00fC€"],\t"b" :\r\n' +
      ` ${'['.repeat(99)}${']'.repeat(99)},"metadata":{"name":"\\ud83d\\ude00\\n"}} `;
    expect(JSON.parse(json)).toHaveProperty('metadata.name', '😀\n');
    expect(codec.meta(Buffer.from(json)).name).toBe('😀\n');
  });

  test.each([
    ' ',
    'null,',
    '[]',
    '"a"',
    '{"metadata":[]}',
    '{"metadata":{"name":1}}',
    '{"metadata":{"name":tru}}',
    '{"a":1}x',
    '{"a":01}',
    '{"a":1.}',
    '{"a":.5}',
    '{"a":-}',
    '{"a":1e}',
    '{"a":+1}',
    '{"a":NaN}',
    "{'a':1}",
    '{"a" 1}',
    '{"a":1,}',
    '{,"a":1}',
    '{"a":[1,]}',
    '{"a":[1 2]}',
    '{"a":[1}',
    '{"a":"\n"}',
    '{"a":"\\x"}',
    '{"a":"\\u12g4"}',
    '{"a":"',
    '{"a":"\\',
    '{a:1}',
  ])('of %j are Malformed', (json) => {
    expect(() => codec.meta(Buffer.from(json))).toThrow(MALFORMED);
  });

  test.each(['80', 'c3', 'ff'])('of bytes that are not UTF-8 are Malformed: %s', (hex) => {
    const object = Buffer.concat([
      Buffer.from('{"metadata":{"name":"'),
      Buffer.from(hex, 'hex'),
      Buffer.from('"}}'),
    ]);
    expect(() => codec.meta(object)).toThrow(MALFORMED);
    expect(() => codec.edit(ENDPOINT_SLICES, object, VERSION)).toThrow(MALFORMED);
    const body = Buffer.concat([Buffer.from('{"kind":"NodeList","items":['), object]);
    expect(() => codec.decodeList([body, Buffer.from(']}')])).toThrow(MALFORMED);
  });

  test('of a number in place of an object or array are Malformed', () => {
    const keep = Uint8Array.of(0);
    const attempts = [
      () => edit('{"metadata":1e400}'),
      () => edit('{"endpoints":1e400}', [0]),
      () => codec.edit(ENDPOINTS, Buffer.from('{"subsets":1e400}'), { keep }),
      () => semanticBytes(codec, Buffer.from('{"metadata":{"annotations":1e400}}')),
      () => codec.service(Buffer.from('{"spec":1e400}')),
    ];
    for (const attempt of attempts) expect(attempt).toThrow(/' is not an /);
  });
});

describe('decodeList()', () => {
  const items = fc.array(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), {
    maxLength: 6,
  });
  const others = fc.dictionary(
    fc.oneof(fc.string(), fc.constantFrom('item', 'items"', '"items', '[', '{"items":[')),
    fc.oneof(fc.jsonValue(), fc.constantFrom('items', '"items":[{}', ['items', []])),
    { maxKeys: 4 },
  );

  const forms = fc.tuple(fc.nat(2), fc.nat(600));

  test('finds the same items as a parser of the whole body, without kind and apiVersion', () => {
    const { items: none } = codec.decodeList([Buffer.from('{"kind":"NodeList","items":null}')]);
    expect(none).toEqual([]);
    fc.assert(
      fc.property(items, others, others, forms, (all, before, after, [indent, cut]) => {
        fc.pre(!BACKSLASH_KEY.test(JSON.stringify([all, before, after])));
        const type = { kind: 'NodeList', metadata: { resourceVersion: '7', continue: 'next' } };
        const { items: _, ...rest }: Record<string, unknown> = {
          ...before,
          nested: { items: [before] },
        };
        const typed = all.map((item) => ({ kind: 'A', nested: { kind: 'B' }, ...item }));
        const body = { ...rest, items: typed, ...after, ...type };
        const bytes = Buffer.from(JSON.stringify(body, null, indent));
        const found = codec.decodeList([bytes.subarray(0, cut), bytes.subarray(cut)]);
        expect({ ...found, items: [] }).toMatchObject({
          kind: 'NodeList',
          resourceVersion: '7',
          continue: 'next',
          items: [],
        });
        // Read again, because `__proto__` is an ordinary key only to JSON.parse.
        const whole = JSON.parse(JSON.stringify(typed)).map(
          ({ kind: _kind, apiVersion: _version, ...item }: Record<string, unknown>) => item,
        );
        expect(found.items.map((each) => JSON.parse(each.toString()))).toEqual(whole);
        // An event is one line.
        expect(found.items.filter((each) => each.includes('\n'))).toEqual([]);
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  test.each([
    ['{"kind":"Node"}', "a list of kind 'Node' at offset 0"],
    ['{"kind":"NodeList","items":[null]}', 'JSON that is not an object at offset 28'],
    ['{"kind":"NodeList","items":[{}', 'invalid JSON at offset 0'],
    ['{"kind":"NodeList","items":[{},]}', 'invalid JSON at offset 31'],
    ['{"kind":"NodeList","items":[,{}]}', 'invalid JSON at offset 28'],
    ['{"kind":"NodeList","items":[{}{}]}', 'invalid JSON at offset 28'],
    ['{"kind":"NodeList","items":[{"a":"ü"},{x}]}', 'invalid JSON at offset 39'],
    ['{"kind":"NodeList","items":[]],"a":[]}', 'invalid JSON at offset 0'],
    ['{"kind":"NodeList","items":{}}', "'items' is not an array"],
  ])('refuses %s', (body, message) => {
    expect(() => codec.decodeList([Buffer.from(body)])).toThrow(
      expect.objectContaining({ code: 'Malformed', message: expect.stringContaining(message) }),
    );
  });
});

test.each([
  ['is nested', `${'['.repeat(100)}${']'.repeat(100)}`, 'JSON nested more than 100 deep'],
  ['never ends', '['.repeat(100_000), 'JSON nested more than 100 deep'],
])('an object that %s is refused before it is parsed', async (_, value, message) => {
  const object = `{"a":${value}}`;
  const refused = { code: 'Malformed', message: expect.stringContaining(message) };
  expect(() => codec.decodeList([list(object)])).toThrow(expect.objectContaining(refused));
  await expect(eventsOf(`{"type":"ADDED","object":${object}}\n`)).rejects.toMatchObject(refused);
  const status = `{"kind":"Status","code":404,"a":${value}}`;
  expect(codec.decodeStatus(Buffer.from(status))).toBeUndefined();
});

describe('watchDecoder()', () => {
  test('reads members in any order, \\r\\n and empty lines', async () => {
    const events = await eventsOf(
      '{"object":{"a":1,"kind":"A"},"new":{},"type":"ADDED"}\r\n\r\n \n{"type":"DELETED","object":{}} \n \r\n\t',
    );
    expect(events.map((each) => ('object' in each ? `${each.type} ${each.object}` : ''))).toEqual([
      'ADDED {"a":1}',
      'DELETED {}',
    ]);
  });

  const event = '{"type":"ADDED","object":{}}';
  test.each([
    ['that ends within an event', event, 'watch stream ends within an event at offset 28'],
    ['with invalid JSON', `${event}\n{"type":"ADDED","object":{x}}\n`, 'at offset 29'],
    ['with an event without an object', '{"type":"ADDED"}\n', ''],
    ['with an object that is null', '{"type":"ADDED","object":null}\n', ''],
    ['with an event without a type', '{"object":{}}\n', ''],
    ['with a number', '5\n', ''],
  ])('refuses a stream %s', async (_, stream, message) => {
    await expect(eventsOf(stream)).rejects.toMatchObject({
      code: 'Malformed',
      message: expect.stringContaining(message),
    });
  });
});

test('the encoder writes kind and apiVersion first, empty lists, and bookmarks with metadata only', () => {
  const body = (object: string) =>
    Buffer.concat(codec.encodeObject(SERVICE_CIDRS, Buffer.from(object))).toString();
  const type = '"kind":"ServiceCIDR","apiVersion":"networking.k8s.io/v1"';
  expect(body('{"a":1}')).toBe(`{${type},"a":1}\n`);
  expect(body('{}')).toBe(`{${type}}\n`);
  expect(Buffer.concat(codec.encodeList(NODES, '3', [])).toString()).toBe(
    '{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"3"},"items":[]}\n',
  );
  expect(codec.encodeBookmark(NODES, '3', false).toString()).toBe(
    '{"type":"BOOKMARK","object":{"kind":"Node","apiVersion":"v1","metadata":{"resourceVersion":"3"}}}\n',
  );
});
