import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { RawEvent, RawList } from '../../../src/filter/codec/codec.ts';
import {
  CODECS,
  chunked,
  decodeAll,
  eventsOf,
  type Fixture,
  factsOf,
  fixture,
  LISTS,
  objectsOf,
  WATCHES,
} from '../../support/codec/codec-fixtures.ts';
import { encodeObject } from '../../support/codec/encode-object.ts';
import { semanticBytes } from '../../support/codec/semantic-bytes.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

function encode({ codec, resource }: Fixture, event: RawEvent): Buffer {
  switch (event.type) {
    case 'ERROR':
      return codec.encodeErrorEvent(event.status);
    case 'BOOKMARK': {
      const { resourceVersion, annotations } = codec.partialMetadata(event.object);
      return codec.encodeBookmark(resource, resourceVersion, annotations.has(INITIAL_EVENTS_END));
    }
    default:
      return Buffer.concat(codec.encodeEvent(resource, event.type, event.object));
  }
}

/** Events as text, because comparing buffers byte by byte is slow. */
function printed(events: readonly RawEvent[]): string[] {
  return events.map((event) =>
    event.type === 'ERROR'
      ? `ERROR ${JSON.stringify(event.status)}`
      : `${event.type} ${event.object.toString('latin1')}`,
  );
}

/** A list with its items as text, for the same reason. */
function listed(list: RawList) {
  return { ...list, items: list.items.map((item) => item.toString('latin1')) };
}

/** A list without the types that a kube-apiserver writes into items of metadata-only JSON. */
function withoutItemTypes({ bytes, metadataOnly }: Fixture): Buffer {
  if (!metadataOnly) return bytes;
  const type = '"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",';
  return Buffer.from(bytes.toString('latin1').replaceAll(type, ''), 'latin1');
}

describe.each(WATCHES)('the watch $file', (watch) => {
  const { codec, bytes } = watch;

  test('is encoded as the kube-apiserver did it, bookmarks included', async () => {
    const events = await eventsOf(watch);
    const frames = events.map((event) => encode(watch, event));
    expect(Buffer.concat(frames).equals(bytes)).toBe(true);
  });

  test('gives the same events in chunks of one byte', async () => {
    const ends = Array.from(bytes, (_, index) => index + 1);
    const events = await decodeAll(codec, chunked(bytes, ends));
    expect(printed(events)).toEqual(printed(await eventsOf(watch)));
  });

  test('gives the same events in random chunks', async () => {
    const events = printed(await eventsOf(watch));
    const cuts = fc.uniqueArray(fc.nat(bytes.length), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(cuts, async (ends) => {
        ends.sort((a, b) => a - b);
        expect(printed(await decodeAll(codec, chunked(bytes, ends)))).toEqual(events);
      }),
      { numRuns: propertyRuns(20) },
    );
  });

  test('gives objects that do not keep the chunk alive', async () => {
    const objects = await objectsOf(watch);
    expect(objects.filter((object) => object.buffer === bytes.buffer)).toEqual([]);
  });
});

describe.each(LISTS)('the list $file', (list) => {
  const { codec, resource, bytes } = list;

  test('is encoded as the kube-apiserver did it', () => {
    const { resourceVersion, items } = codec.decodeList([bytes]);
    const buffers = codec.encodeList(resource, resourceVersion, items);
    expect(Buffer.concat(buffers).equals(withoutItemTypes(list))).toBe(true);
  });

  test('is the same however it is split, and an item within one buffer is not copied', () => {
    const whole = codec.decodeList([bytes]);
    const cut = fc.uniqueArray(fc.nat(bytes.length), { maxLength: 20 });
    fc.assert(
      fc.property(cut, (ends) => {
        const buffers = [0, ...ends.toSorted((a, b) => a - b)].map((start, index, starts) =>
          Buffer.from(bytes.subarray(start, starts[index + 1] ?? bytes.length)),
        );
        const decoded = codec.decodeList(buffers);
        expect(listed(decoded)).toEqual(listed(whole));
        if (codec.encoding === 'json') return;
        const own = decoded.items.filter((item) =>
          buffers.every((buffer) => buffer.buffer !== item.buffer),
        );
        expect(own.length).toBeLessThanOrEqual(ends.length);
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  test('is refused with fewer than its items', () => {
    const { length } = codec.decodeList([bytes]).items;
    expect(codec.decodeList([bytes], length).continue).toBe('');
    const refused = expect.objectContaining({ code: 'TooLarge' });
    expect(() => codec.decodeList([bytes], length - 1)).toThrow(refused);
  });
});

describe('both encodings', () => {
  const protobuf = [...LISTS, ...WATCHES].filter(({ codec }) => codec.encoding === 'protobuf');

  test.each(protobuf)(
    'give the same facts and metadata of the objects of $name',
    async (binary) => {
      const read = async (from: Fixture) =>
        (await objectsOf(from)).map((object) => [
          factsOf(from.codec, from.resource, object),
          from.codec.meta(object),
          from.codec.partialMetadata(object),
        ]);
      expect(await read(fixture(`${binary.name}.json`))).toEqual(await read(binary));
    },
  );

  test.each(WATCHES)('give the same event types for $file', async ({ name }) => {
    const types = async (file: string) => (await eventsOf(fixture(file))).map(({ type }) => type);
    expect(await types(`${name}.json`)).toEqual(await types(`${name}.pb`));
  });
});

test.each(['pb', 'json'])(
  'a kube-apiserver sends MODIFIED events without a semantic change (%s)',
  async (extension) => {
    // While a Pod fails and recovers, the headless Service's Endpoints lose only the trigger time.
    const watch = fixture(`endpoints.watchlist.${extension}`);
    const { codec } = watch;
    const objects = await objectsOf(watch);
    const headless = objects.filter((each) => codec.meta(each).name === 'headless');
    const versions = new Set(headless.map((each) => codec.meta(each).resourceVersion));
    const meanings = new Set(headless.map((each) => semanticBytes(codec, each).toString('hex')));
    expect([versions.size, meanings.size]).toEqual([3, 2]);
  },
);

describe('facts of the fixtures', () => {
  const encodings = ['pb', 'json'];

  test.each(encodings)(
    'of the hand-made slice are the values it was written with (%s)',
    (extension) => {
      const { codec, bytes } = fixture(`endpointslices.list.${extension}`);
      const facts = codec.decodeList([bytes]).items.map((item) => codec.endpointSlice(item));
      expect(facts.find(({ name }) => name === 'multi-custom-a')).toEqual({
        namespace: 'default',
        name: 'multi-custom-a',
        uid: 'bf7ea8f8-d68f-46e9-9bd6-fd6ae1713a79',
        resourceVersion: '310',
        service: 'multi',
        hinted: true,
        groups: [
          {
            ports: ['TCP/http'],
            endpoints: [
              { family: 'IPv4', node: 'edge-1', zone: 'z1', state: 'ready' },
              { family: 'IPv4', node: 'edge-2', zone: 'z1', state: 'serving' },
              { family: 'IPv4', node: 'edge-3', zone: 'z2', state: 'notReady' },
              { family: 'IPv4', node: '', zone: '', state: 'ready' },
            ],
          },
        ],
      });
    },
  );

  test.each(encodings)(
    'give the labels and annotations of metadata-only nodes (%s)',
    (extension) => {
      const { codec, bytes } = fixture(`nodes.list.meta.${extension}`);
      const nodes = codec.decodeList([bytes]).items.map((item) => codec.partialMetadata(item));
      expect(nodes.map(({ name, labels }) => [name, labels.get('site')])).toEqual([
        ['cloud-1', undefined],
        ['edge-1', 'a'],
        ['edge-2', 'a'],
        ['edge-3', 'b'],
      ]);
    },
  );
});

test.each(CODECS)('a Service has the facts of its spec ($encoding)', (codec) => {
  const spec = {
    type: 'NodePort',
    clusterIP: '10.96.0.1',
    internalTrafficPolicy: 'Cluster',
    externalTrafficPolicy: 'Local',
    trafficDistribution: 'PreferSameNode',
  };
  const read = (object: object) => codec.service(encodeObject(codec.encoding, 'Service', object));
  expect(read({ spec })).toMatchObject(spec);
  const empty = Object.fromEntries(Object.keys(spec).map((name) => [name, '']));
  expect(read({ spec: {} })).toMatchObject(empty);
});
