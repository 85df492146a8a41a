import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { RawEvent, RawList } from '../../../src/filter/codec/codec.ts';
import { addressNumber } from '../../../src/filter/objects/address-number.ts';
import { ENDPOINT_SLICES } from '../../../src/filter/objects/resource.ts';
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
    const objects = await objectsOf(watch);
    // No object keeps the chunk alive.
    expect(objects.filter((object) => object.buffer === bytes.buffer)).toEqual([]);
  });

  test('gives the same events in any chunks', async () => {
    const events = printed(await eventsOf(watch));
    const cuts = fc.uniqueArray(fc.nat(bytes.length), { maxLength: 20 });
    const everyByte = Array.from(bytes, (_, index) => index + 1);
    await fc.assert(
      fc.asyncProperty(cuts, async (ends) => {
        ends.sort((a, b) => a - b);
        expect(printed(await decodeAll(codec, chunked(bytes, ends)))).toEqual(events);
      }),
      { numRuns: propertyRuns(20), examples: [[everyByte]] },
    );
  });
});

describe.each(LISTS)('the list $file', (list) => {
  const { codec, resource, bytes } = list;
  const whole = codec.decodeList([bytes]);

  test('is encoded as the kube-apiserver did it', () => {
    const items = whole.items.flatMap((item) => [codec.itemHead(item.length), item]);
    const buffers = codec.encodeList(resource, whole.resourceVersion, items);
    expect(Buffer.concat(buffers).equals(withoutItemTypes(list))).toBe(true);
    expect(codec.decodeStatus(bytes)).toBeUndefined();
  });

  test('is the same however it is split; only items that span two buffers are copied', () => {
    const cut = fc.uniqueArray(fc.nat(bytes.length), { maxLength: 20 });
    fc.assert(
      fc.property(cut, (ends) => {
        const buffers = [0, ...ends.toSorted((a, b) => a - b)].map((start, index, starts) =>
          Buffer.from(bytes.subarray(start, starts[index + 1] ?? bytes.length)),
        );
        const decoded = codec.decodeList(buffers);
        expect(listed(decoded)).toEqual(listed(whole));
        const own = decoded.items.filter((item) =>
          buffers.every((buffer) => buffer.buffer !== item.buffer),
        );
        // These lose the types that a kube-apiserver writes into items.
        const retyped = list.metadataOnly && codec.encoding === 'json' ? decoded.items.length : 0;
        expect(own.length).toBeLessThanOrEqual(Math.max(retyped, ends.length));
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  test('is refused with fewer than its items', () => {
    const { length } = whole.items;
    expect(codec.decodeList([bytes], length).continue).toBe('');
    const refused = expect.objectContaining({ code: 'TooLarge' });
    expect(() => codec.decodeList([bytes], length - 1)).toThrow(refused);
  });

  test('has objects in which an edit changes only the version', () => {
    for (const object of whole.items) {
      const { resourceVersion } = codec.meta(object);
      // A mask counts only for objects with endpoints.
      const keep = resource.kind.startsWith('Endpoint') ? undefined : new Uint8Array(7);
      const edit = { resourceVersion: '326000001', cutHints: false };
      const edited = codec.edit(resource, object, keep === undefined ? edit : { ...edit, keep });
      expect(codec.meta(edited).resourceVersion).toBe('326000001');
      expect(codec.edit(resource, edited, { resourceVersion }).equals(object)).toBe(true);
    }
  });
});

const PROTOBUF = [...LISTS, ...WATCHES].filter(({ codec }) => codec.encoding === 'protobuf');

test.each(PROTOBUF)(
  'both encodings give the same facts and metadata of the objects of $name',
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

describe.each(CODECS)('of real objects ($encoding)', ({ encoding }) => {
  const { codec, bytes } = fixture(`endpointslices.list.${encoding === 'json' ? 'json' : 'pb'}`);
  const { items } = codec.decodeList([bytes]);
  const handMade = items.find((item) => codec.meta(item).name === 'multi-custom-a');

  test('the hand-made slice has the facts that it was written with', () => {
    expect(codec.endpoints(ENDPOINT_SLICES, handMade ?? Buffer.alloc(0))).toEqual({
      namespace: 'default',
      name: 'multi-custom-a',
      uid: 'bf7ea8f8-d68f-46e9-9bd6-fd6ae1713a79',
      resourceVersion: '310',
      service: 'multi',
      hinted: true,
      groups: [
        {
          ports: ['TCP/http'],
          numbers: [8080],
          endpoints: [
            { family: 'IPv4', node: 'edge-1', zone: 'z1', state: 'ready', terminating: false },
            { family: 'IPv4', node: 'edge-2', zone: 'z1', state: 'serving', terminating: true },
            { family: 'IPv4', node: 'edge-3', zone: 'z2', state: 'notReady', terminating: false },
            { family: 'IPv4', node: '', zone: '', state: 'ready', terminating: false },
          ],
          addresses: ['10.244.1.20', '10.244.2.20', '10.244.3.20', '203.0.113.9'].map(
            addressNumber,
          ),
        },
      ],
    });
  });

  test('it refuses a mask that was made for another object', () => {
    const cut = (keep: Uint8Array) => () =>
      codec.edit(ENDPOINT_SLICES, handMade ?? Buffer.alloc(0), { keep });
    expect(cut(new Uint8Array(3))).toThrow('a decision about 3 endpoints for an object with 4');
    expect(cut(new Uint8Array(5))).toThrow('a decision about 5 endpoints for an object with 4');
    expect(cut(new Uint8Array(4))).not.toThrow();
  });
});

describe.each(CODECS)('a Service ($encoding)', (codec) => {
  const encodeService = (object: object) => encodeObject(codec.encoding, 'Service', object);

  test('has the facts of its spec', () => {
    const spec = {
      type: 'NodePort',
      clusterIP: '10.96.0.1',
      internalTrafficPolicy: 'Cluster',
      externalTrafficPolicy: 'Local',
      trafficDistribution: 'PreferSameNode',
    };
    const dual = { ...spec, ipFamilies: ['IPv6', 'IPv4'] };
    expect(codec.service(encodeService({ spec: dual }))).toMatchObject(dual);
    const empty = Object.fromEntries(Object.keys(spec).map((name) => [name, '']));
    expect(codec.service(encodeService({ spec: {} }))).toMatchObject({ ...empty, ipFamilies: [] });
  });

  test('has its addresses and ports; without clusterIPs, its clusterIP', () => {
    const ports = [{ name: 'https', protocol: 'TCP', port: 443 }];
    const both = { clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1', 'fd00::1'], ports };
    expect(codec.serviceAddresses(encodeService({ spec: both }))).toEqual({
      clusterIPs: both.clusterIPs,
      ports: [{ key: 'TCP/https', number: 443 }],
    });
    const single = codec.serviceAddresses(encodeService({ spec: { clusterIP: '10.96.0.1' } }));
    expect(single).toEqual({ clusterIPs: ['10.96.0.1'], ports: [] });
  });
});
