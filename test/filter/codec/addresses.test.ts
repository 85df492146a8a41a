import { describe, expect, test } from '@jest/globals';
import type { Codec } from '../../../src/filter/codec/codec.ts';
import { ENDPOINT_SLICES, ENDPOINTS, type Resource } from '../../../src/filter/codec/resource.ts';
import { CODECS, codecOf, fixture, objectsOf } from '../../support/codec/codec-fixtures.ts';

async function objects(name: string, codec: Codec): Promise<readonly Buffer[]> {
  return await objectsOf(fixture(`${name}.${codec.encoding === 'json' ? 'json' : 'pb'}`));
}

describe.each([
  ['endpointslices.list', ENDPOINT_SLICES],
  ['endpoints.list', ENDPOINTS],
] as const)('addresses() of %s', (name, resource: Resource) => {
  test.each(CODECS)('match the facts, endpoint by endpoint ($encoding)', async (codec) => {
    const all = await objects(name, codec);
    expect(all.length).toBeGreaterThan(0);
    for (const object of all) {
      const facts = resource === ENDPOINTS ? codec.endpoints(object) : codec.endpointSlice(object);
      const groups = codec.addresses(resource, object);
      expect(groups.map(({ ports }) => ports.map(({ key }) => key))).toEqual(
        facts.groups.map(({ ports }) => ports),
      );
      const counts = facts.groups.map(({ endpoints }) => endpoints.length);
      expect(groups.map(({ endpoints }) => endpoints.length)).toEqual(counts);
      expect(groups.map(({ hinted }) => hinted.length)).toEqual(counts);
      expect(groups.some(({ hinted }) => hinted.includes(true))).toBe(facts.hinted);
    }
  });

  test('are the same in both encodings', async () => {
    const read = async (encoding: Codec['encoding']) => {
      const codec = codecOf(encoding);
      const all = await objects(name, codec);
      return new Map(
        all.map((object) => [codec.meta(object).name, codec.addresses(resource, object)]),
      );
    };
    const json = await read('json');
    expect(await read('protobuf')).toEqual(json);
    const flat = [...json.values()].flat();
    expect(flat.flatMap(({ endpoints }) => endpoints.flat())).toContainEqual(
      expect.stringMatching(/^[0-9a-f.:]+$/),
    );
    expect(flat.flatMap(({ ports }) => ports).some(({ number }) => number > 0)).toBe(true);
  });
});

test('serviceAddresses() is the same in both encodings and contains clusterIPs and ports', async () => {
  const read = async (encoding: Codec['encoding']) => {
    const codec = codecOf(encoding);
    const all = await objects('services.list', codec);
    return new Map(all.map((each) => [codec.service(each).name, codec.serviceAddresses(each)]));
  };
  const json = await read('json');
  expect(await read('protobuf')).toEqual(json);
  expect(json.get('kubernetes')).toEqual({
    clusterIPs: [expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/)],
    ports: [{ key: 'TCP/https', number: 443 }],
  });
});

test('a subset has its ready addresses first, whatever their order on the wire', () => {
  const object = Buffer.from(
    JSON.stringify({
      subsets: [
        {
          notReadyAddresses: [{ ip: '10.0.0.2' }],
          addresses: [{ ip: '10.0.0.1' }],
          ports: [{ port: 80 }],
        },
        {},
      ],
    }),
  );
  expect(codecOf('json').addresses(ENDPOINTS, object)).toEqual([
    {
      ports: [{ key: 'TCP/', number: 80 }],
      endpoints: [['10.0.0.1'], ['10.0.0.2']],
      hinted: [false, false],
    },
    { ports: [], endpoints: [], hinted: [] },
  ]);
});

test('a Service without clusterIPs falls back to its clusterIP', () => {
  const object = Buffer.from(JSON.stringify({ spec: { clusterIP: '10.96.0.1' } }));
  const read = codecOf('json').serviceAddresses(object);
  expect(read).toEqual({ clusterIPs: ['10.96.0.1'], ports: [] });
});
