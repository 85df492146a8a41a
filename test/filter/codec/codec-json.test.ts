import { describe, expect, test } from '@jest/globals';
import { createJsonCodec } from '../../../src/filter/codec/json/codec.ts';
import {
  ENDPOINT_SLICES,
  NODES,
  type Resource,
  SERVICE_CIDRS,
} from '../../../src/filter/codec/resource.ts';
import { chunked, decodeAll } from '../../support/codec/codec-fixtures.ts';

const codec = createJsonCodec();

function splice(
  json: string,
  {
    keep,
    cutHints,
    resource = ENDPOINT_SLICES,
  }: {
    keep?: number[];
    cutHints?: boolean;
    resource?: Resource;
  } = {},
): unknown {
  const edit = {
    resourceVersion: '9',
    ...(keep === undefined ? {} : { keep: Uint8Array.from(keep) }),
    ...(cutHints === undefined ? {} : { cutHints }),
  };
  return parsed(codec.edit(resource, Buffer.from(json), edit));
}

function parsed(json: Buffer | string): unknown {
  return JSON.parse(json.toString());
}

describe('splice()', () => {
  test.each([
    [
      'into metadata',
      '{"metadata":{"name":"a"}}',
      '{"metadata":{"resourceVersion":"9","name":"a"}}',
    ],
    ['into empty metadata', '{"metadata": { }}', '{"metadata": {"resourceVersion":"9" }}'],
    ['in place of null metadata', '{"metadata":null}', '{"metadata":{"resourceVersion":"9"}}'],
    ['with metadata', '{"a":1}', '{"metadata":{"resourceVersion":"9"},"a":1}'],
    ['with metadata into an empty object', '{ }', '{"metadata":{"resourceVersion":"9"} }'],
    [
      'in place of null',
      '{"metadata":{"resourceVersion":null}}',
      '{"metadata":{"resourceVersion":"9"}}',
    ],
  ])('puts a missing version %s', (_, before, after) => {
    expect(splice(before)).toEqual(parsed(after));
  });

  test('reads a null endpoint as one with default values, as Go does', () => {
    const json = '{"metadata":{"resourceVersion":"9"},"endpoints":[null,{}]}';
    expect(codec.endpointSlice(Buffer.from(json)).groups[0]?.endpoints).toHaveLength(2);
    const left = (endpoints: unknown[]) => ({ metadata: { resourceVersion: '9' }, endpoints });
    expect(splice(json, { keep: [0, 1] })).toEqual(left([{}]));
    expect(splice(json, { keep: [1, 0] })).toEqual(left([null]));
  });

  test('cuts all hints, at any place in an endpoint', () => {
    const json = (endpoints: string) =>
      `{"metadata":{"resourceVersion":"9"},"endpoints":[${endpoints}]}`;
    const before = '{"hints":{"a":[1]},"zone":"z"},{"zone":"z","hints":null},{"hints":{}}';
    const after = json('{"zone":"z"},{"zone":"z"},{}');
    expect(splice(json(before), { cutHints: true })).toEqual(parsed(after));
  });

  test('edits the last of several members with the same key and cuts the others', () => {
    const json =
      '{"endpoints":[{"zone":"far"}],"metadata":{"name":"x","resourceVersion":"1"},"future":[1],' +
      '"metadata":{"resourceVersion":"2","name":"a","resourceVersion":"3"},"endpoints":[{},{}]}';
    const spliced = codec.edit(ENDPOINT_SLICES, Buffer.from(json), {
      resourceVersion: '9',
      keep: Uint8Array.of(1, 0),
    });
    expect(parsed(spliced)).toEqual({
      future: [1],
      metadata: { name: 'a', resourceVersion: '9' },
      endpoints: [{}],
    });
    // Go's parser merges such objects. It must not find the members that the last one replaces.
    expect(spliced.toString()).not.toMatch(/far|"x"/);
  });
});

describe('facts', () => {
  test.each(['{}', '{"endpoints":null,"ports":null,"metadata":null}', '{"endpoints":[]}'])(
    'of %s are empty',
    (json) => {
      expect(codec.endpointSlice(Buffer.from(json))).toEqual({
        namespace: '',
        name: '',
        uid: '',
        resourceVersion: '',
        service: '',
        hinted: false,
        groups: [{ ports: [], endpoints: [] }],
      });
    },
  );

  test('are those of the last of several members with the same key', () => {
    const json =
      '{"metadata":{"name":"a","labels":{"kubernetes.io/service-name":"a"}},"endpoints":[{},{}],' +
      '"metadata":{"name":"b","labels":{"x":"y"},"name":"c"},"endpoints":[{}]}';
    const facts = codec.endpointSlice(Buffer.from(json));
    expect([facts.name, facts.service, facts.groups[0]?.endpoints.length]).toEqual(['c', '', 1]);
  });

  test.each([
    '',
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
    `{"a":${'['.repeat(100)}${']'.repeat(100)}}`,
    `{"a":${'['.repeat(100_000)}`,
  ])('of %j are Malformed', (json) => {
    expect(() => codec.meta(Buffer.from(json))).toThrow(
      expect.objectContaining({ code: 'Malformed', offset: expect.any(Number) }),
    );
  });

  test('of an object with more than 1,000 members are Malformed, but maps may have more', () => {
    const members = (count: number) =>
      Array.from({ length: count }, (_, index) => `"${index}":"x"`).join();
    const meta = (json: string) => () => codec.partialMetadata(Buffer.from(json));
    expect(meta(`{${members(1001)}}`)).toThrow('more than 1000 members');
    expect(meta(`{${members(1000)}}`)).not.toThrow();
    const { labels } = meta(`{"metadata":{"labels":{${members(2000)}}}}`)();
    expect(labels.size).toBe(2000);
  });

  test('are found in any valid JSON', () => {
    const json =
      ' {"a":[0,-0,-1.5E+10,1e-7,true,false,null,"",{}, [] ,"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00fC€"],\t"b" :\r\n' +
      ` ${'['.repeat(99)}${']'.repeat(99)},"metadata":{"name":"\\ud83d\\ude00\\n"}} `;
    expect(JSON.parse(json)).toHaveProperty('metadata.name', '😀\n');
    expect(codec.meta(Buffer.from(json)).name).toBe('😀\n');
  });
});

describe('decodeList()', () => {
  test('removes kind and apiVersion from items, at any place', () => {
    const body =
      '{"items":[{"kind":"A","apiVersion":"v1"},{"kind":"A","a":{"kind":"B"},"apiVersion":"v1"},' +
      '{"a":1,"kind":"A"}, {"a":1} ],"metadata":{"resourceVersion":"7","continue":"next"},"kind":"AList"}\n';
    const { items, ...rest } = codec.decodeList([Buffer.from(body)]);
    expect(items.map(parsed)).toEqual([{}, { a: { kind: 'B' } }, { a: 1 }, { a: 1 }]);
    expect(rest).toEqual({ kind: 'AList', resourceVersion: '7', continue: 'next' });
  });

  test('reads null items as an empty list', () => {
    const body = '{"kind":"NodeList","metadata":{"resourceVersion":"7"},"items":null}';
    expect(codec.decodeList([Buffer.from(body)]).items).toEqual([]);
  });

  test('refuses a body that is not a list', () => {
    expect(() => codec.decodeList([Buffer.from('{"kind":"Node"}')])).toThrow(
      "a list of kind 'Node' at offset 0",
    );
    expect(() => codec.decodeList([Buffer.from('{"kind":"NodeList","items":[null]}')])).toThrow(
      'JSON that is not an object at offset 28',
    );
  });
});

describe('watchDecoder()', () => {
  const decode = async (stream: string) =>
    (await decodeAll(codec, chunked(Buffer.from(stream), []))).map((event) =>
      event.type === 'ERROR' ? event.type : `${event.type} ${event.object}`,
    );

  test('reads members in any order, \\r\\n and empty lines', async () => {
    expect(
      await decode(
        '{"object":{"a":1,"kind":"A"},"new":{},"type":"ADDED"}\r\n\r\n \n{"type":"DELETED","object":{}} \n',
      ),
    ).toEqual(['ADDED {"a":1}', 'DELETED {}']);
  });

  test('reports a stream that ends within an event', async () => {
    const event = '{"type":"ADDED","object":{}}';
    await expect(decode(event)).rejects.toThrow('watch stream ends within an event at offset 28');
    expect(await decode(`${event}\n \r\n\t`)).toEqual(['ADDED {}']);
  });

  test('reports the offset in the stream', async () => {
    const event = '{"type":"ADDED","object":{}}\n';
    await expect(decode(`${event}{"type":"ADDED","object":{x}}\n`)).rejects.toMatchObject({
      code: 'Malformed',
      offset: event.length + 26,
    });
  });

  test.each(['{"type":"ADDED"}', '{"type":"ADDED","object":null}', '{"object":{}}', '5'])(
    'refuses the event %s',
    async (event) => {
      await expect(decode(`${event}\n`)).rejects.toMatchObject({ code: 'Malformed' });
    },
  );
});

test('an object of a list that is not in one line is passed on in one line', async () => {
  const body = JSON.stringify(
    { kind: 'NodeList', items: [{ kind: 'Node', a: ['\n'] }, {}] },
    null,
    1,
  );
  const { items } = codec.decodeList([Buffer.from(body)]);
  const frames = items.map((item) => Buffer.concat(codec.encodeEvent(NODES, 'ADDED', item)));
  const events = await decodeAll(codec, chunked(Buffer.concat(frames), []));
  const type = { kind: 'Node', apiVersion: 'v1' };
  expect(frames.map((frame) => frame.toString().split('\n'))).toEqual([
    [expect.any(String), ''],
    [expect.any(String), ''],
  ]);
  expect(frames.map((frame) => JSON.parse(frame.toString()).object)).toEqual([
    { ...type, a: ['\n'] },
    type,
  ]);
  expect(events).toHaveLength(2);
});

test('what is not edited stays byte for byte', () => {
  const slice = (endpoints: string, version: string) =>
    Buffer.from(
      `{"a":"\\u003c\\/","metadata":{"n":1.50e1,"resourceVersion":"${version}"},"endpoints":[${endpoints}], "b" : [ ] }`,
    );
  const [first, second, third] = ['{"zone":"\\u0061"}', '{"x":1e400}', '{"zone":"<"}'];
  const edit = { resourceVersion: '9', keep: Uint8Array.of(0, 1, 0) };
  const edited = codec.edit(ENDPOINT_SLICES, slice(`${first},${second} ,${third}`, '12'), edit);
  expect(edited.toString()).toBe(slice(second, '9').toString());
});

test('a member whose name has escapes is the same member', () => {
  const object = Buffer.from('{"met\\u0061data":{"n\\u0061me":"x","resourceVersion":"1"}}');
  expect(codec.meta(object).name).toBe('x');
  const edited = codec.edit(NODES, object, { resourceVersion: '9' });
  expect(edited.toString()).toBe('{"met\\u0061data":{"n\\u0061me":"x","resourceVersion":"9"}}');
});

describe('the encoder', () => {
  test('writes kind and apiVersion before the other members of an object', () => {
    const body = (object: string) =>
      Buffer.concat(codec.encodeObject(SERVICE_CIDRS, Buffer.from(object))).toString();
    const type = '"kind":"ServiceCIDR","apiVersion":"networking.k8s.io/v1"';
    expect(body('{"a":1}')).toBe(`{${type},"a":1}\n`);
    expect(body('{}')).toBe(`{${type}}\n`);
  });

  test('writes an empty list', () => {
    expect(Buffer.concat(codec.encodeList(NODES, '3', [])).toString()).toBe(
      '{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"3"},"items":[]}\n',
    );
  });

  test('writes only metadata into a bookmark of another kind', () => {
    expect(codec.encodeBookmark(NODES, '3', false).toString()).toBe(
      '{"type":"BOOKMARK","object":{"kind":"Node","apiVersion":"v1","metadata":{"resourceVersion":"3"}}}\n',
    );
  });
});
