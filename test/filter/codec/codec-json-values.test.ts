import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createJsonCodec } from '../../../src/filter/codec/json/codec.ts';
import { ENDPOINT_SLICES } from '../../../src/filter/codec/resource.ts';
import { chunked, decodeAll } from '../../support/codec/codec-fixtures.ts';
import { semanticBytes } from '../../support/codec/semantic-bytes.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const codec = createJsonCodec();
const VERSION = { resourceVersion: '9' };

/** An object after a LIST, a watch event and a splice. */
async function passedOn(json: string): Promise<string[]> {
  const list = Buffer.from(`{"kind":"NodeList","items":[${json}]}`);
  const event = Buffer.from(`{"type":"ADDED","object":${json}}\n`);
  const events = await decodeAll(codec, chunked(event, []));
  return [
    ...codec.decodeList([list]).items,
    ...events.flatMap((each) => ('object' in each ? [each.object] : [])),
    codec.edit(ENDPOINT_SLICES, Buffer.from(json), VERSION),
    semanticBytes(codec, Buffer.from(json)),
  ].map(String);
}

describe('a number that JavaScript cannot represent keeps its digits:', () => {
  test.each([
    '9007199254740993',
    '0.12345678901234567890',
    '-1E-400',
    '12345678901234567890.10E+3',
  ])('%s', async (digits) => {
    for (const prefix of ['{"a":', '{"a":[1,', '{"a": ', '{"a":[{"b":\t']) {
      const json = `${prefix}${digits}${prefix.includes('{"b"') ? '}' : ''}${prefix.includes('[') ? ']' : ''}}`;
      const passed = await passedOn(json);
      expect(passed).toHaveLength(4);
      expect(passed.filter((each) => !each.includes(digits))).toEqual([]);
    }
  });

  test('any integer', async () => {
    await fc.assert(
      fc.asyncProperty(fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }), async (integer) => {
        const members = `"a":${integer},"b":[0,${integer}]`;
        const passed = await passedOn(`{${members}}`);
        expect(passed.filter((each) => !each.includes(members))).toEqual([]);
      }),
    );
  });

  test('and is not read as an object or array', () => {
    const splice = (json: string, edit: { keep?: Uint8Array }) => () =>
      codec.edit(ENDPOINT_SLICES, Buffer.from(json), { ...VERSION, ...edit });
    const attempts = [
      splice('{"metadata":1e400}', {}),
      splice('{"endpoints":1e400}', { keep: Uint8Array.of(0) }),
      () => semanticBytes(codec, Buffer.from('{"metadata":{"annotations":1e400}}')),
      () => codec.service(Buffer.from('{"spec":1e400}')),
    ];
    const refused = expect.objectContaining({ message: expect.stringMatching(/' is not an /) });
    for (const attempt of attempts) expect(attempt).toThrow(refused);
  });
});

describe('a key with a meaning in JavaScript is an ordinary key:', () => {
  test.each(['__proto__', 'toString'])('%s', async (key) => {
    const json = `{"${key}":{"endpoints":[{}],"a":1},"metadata":{"labels":{"${key}":"x"},"${key}":{"b":2}}}`;
    // The second needs the reviver, which copies objects.
    for (const text of [json, json.replace('{"b":2}', '{"\\\\":12345678901234567890}')]) {
      for (const passed of await passedOn(text)) {
        expect(passed.split(`"${key}":`)).toHaveLength(4);
        expect(passed).toContain(`"${key}":{"endpoints":[{}],"a":1}`);
        expect(codec.partialMetadata(Buffer.from(passed)).labels).toEqual(new Map([[key, 'x']]));
        const { groups } = codec.endpointSlice(Buffer.from(passed));
        expect(groups).toEqual([{ ports: [], endpoints: [] }]);
      }
    }
    expect({}).not.toHaveProperty('a');
  });
});

test.each(['\\n', ':1', '\ue000'])(
  '16 MB of %j in one string do not overflow the stack',
  (part) => {
    const value = part.repeat(16e6 / Buffer.byteLength(part));
    const object = Buffer.from(`{"metadata":{"name":"x","annotations":{"\\\\":"${value}"}}}`);
    expect(codec.edit(ENDPOINT_SLICES, object, VERSION).length).toBeGreaterThan(16e6);
  },
);

test('the facts read an inexact number as a number', () => {
  const slice = (port: string) => Buffer.from(`{"ports":[{"port":${port}}]}`);
  const ports = ['8e1', '0e5', '80.000000000000000'].map(
    (port) => codec.endpointSlice(slice(port)).groups[0]?.ports,
  );
  expect(ports).toEqual([['TCP/'], [], ['TCP/']]);
});

describe('bytes that are not UTF-8', () => {
  test.each([0x80, 0xc3, 0xff])('are refused, not replaced: %d', (byte) => {
    const object = Buffer.from('{"metadata":{"name":"x"}}');
    object[object.indexOf('x')] = byte;
    const list = Buffer.concat([
      Buffer.from('{"kind":"NodeList","items":['),
      object,
      Buffer.from(']}'),
    ]);
    const refused = expect.objectContaining({ code: 'Malformed' });
    expect(() => codec.meta(object)).toThrow(refused);
    expect(() => codec.edit(ENDPOINT_SLICES, object, VERSION)).toThrow(refused);
    expect(() => codec.decodeList([list])).toThrow(refused);
  });
});

describe('decodeList()', () => {
  const items = fc.array(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), {
    maxLength: 6,
  });
  const others = fc.dictionary(
    fc.oneof(fc.string(), fc.constantFrom('item', 'items"', '\\"items', '[', '{"items":[')),
    fc.oneof(fc.jsonValue(), fc.constantFrom('items', '"items":[{}', ['items', []])),
    { maxKeys: 4 },
  );

  test('finds the same items as a parser of the whole body', () => {
    fc.assert(
      fc.property(items, others, others, fc.nat(2), (all, before, after, indent) => {
        const type = { kind: 'NodeList', apiVersion: 'v1', metadata: { resourceVersion: '7' } };
        const { items: _, ...rest }: Record<string, unknown> = {
          ...before,
          nested: { items: [before] },
        };
        const body = Buffer.from(
          JSON.stringify({ ...rest, items: all, ...after, ...type }, null, indent),
        );
        const whole = JSON.parse(body.toString()).items.map(
          ({ kind: _kind, apiVersion: _version, ...item }: Record<string, unknown>) => item,
        );
        const found = codec.decodeList([body]).items.map((each) => JSON.parse(each.toString()));
        expect(found).toEqual(whole);
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  test.each([
    ['{"kind":"NodeList","items":[{}', 'invalid JSON at offset 30'],
    ['{"kind":"NodeList","items":[{},]}', 'invalid JSON at offset 31'],
    ['{"kind":"NodeList","items":[,{}]}', 'invalid JSON at offset 28'],
    ['{"kind":"NodeList","items":[{}{}]}', 'invalid JSON at offset 30'],
    ['{"kind":"NodeList","items":["ü",{x}]}', 'invalid JSON at offset 34'],
    ['{"kind":"NodeList","items":[{},"ü"]}', 'JSON that is not an object at offset 31'],
    ['{"kind":"NodeList","items":{}}', "'items' is not an array"],
  ])('refuses %s', (body, message) => {
    expect(() => codec.decodeList([Buffer.from(body)])).toThrow(
      expect.objectContaining({ code: 'Malformed', message: expect.stringContaining(message) }),
    );
  });

  test('returns items that do not keep the body alive', () => {
    const body = Buffer.from('{"kind":"NodeList","items":[{"a":1}]}');
    expect(codec.decodeList([body]).items.map((each) => each.buffer)).not.toContain(body.buffer);
  });
});
