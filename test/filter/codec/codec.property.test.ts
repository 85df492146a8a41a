import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Encoding } from '../../../src/filter/codec/codec.ts';
import type { EndpointCorrection } from '../../../src/filter/objects/pod-endpoint.ts';
import { ENDPOINT_SLICES, ENDPOINTS } from '../../../src/filter/objects/resource.ts';
import { CODECS } from '../../support/codec/codec-fixtures.ts';
import {
  type ModelEndpoints,
  type ModelMeta,
  type ModelSlice,
  modelEndpoints,
  modelMeta,
  modelSlice,
  ofEndpoints,
  ofSlice,
  TRIGGER_TIME,
} from '../../support/codec/codec-model.ts';
import { encodeObject } from '../../support/codec/encode-object.ts';
import { propertyRuns } from '../../support/property-runs.ts';

/*
 * One model of all facts and edits, for both encodings. Objects are encoded, and edited objects are read, without the
 * codec: with @bufbuild/protobuf and JSON.
 */

/** The numbers of the fields that are messages. */
interface Shape {
  readonly [number: number]: Shape;
}

const SHAPE: Readonly<Record<'EndpointSlice' | 'Endpoints', Shape>> = {
  EndpointSlice: { 2: { 2: {} } },
  Endpoints: { 2: { 1: {}, 2: {} } },
};

type Value = readonly [number: number, value: string | readonly Value[]];

/** All fields of a message by number, unknown ones too, in the order of their numbers. */
function fieldsOf(bytes: Uint8Array, shape: Shape): Value[] {
  const reader = new BinaryReader(bytes);
  const values: Value[] = [];
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const inner = shape[number];
    if (inner !== undefined && wireType === WireType.LengthDelimited) {
      values.push([number, fieldsOf(reader.bytes(), inner)]);
      continue;
    }
    const start = reader.pos;
    reader.skip(wireType, number);
    values.push([number, Buffer.from(bytes.subarray(start, reader.pos)).toString('hex')]);
  }
  return values.sort(([a], [b]) => a - b);
}

/** Compares values, because corrected fields move to another place. */
function expectSameValues(
  encoding: Encoding,
  kind: keyof typeof SHAPE,
  bytes: Buffer,
  wanted: Buffer,
): void {
  const valuesOf = (object: Buffer): unknown =>
    encoding === 'json' ? JSON.parse(object.toString()) : fieldsOf(object, SHAPE[kind]);
  expect(valuesOf(bytes)).toEqual(valuesOf(wanted));
}

type Corrections = ReadonlyMap<number, EndpointCorrection>;

/** A mask for more endpoints than any model has. */
const masks = fc.uint8Array({ min: 0, max: 1, minLength: 48, maxLength: 48 });
const correction: fc.Arbitrary<EndpointCorrection> = fc.oneof(
  fc.constant('cut' as const),
  fc.record(
    { address: fc.constantFrom('10.1.0.9', 'fd00::9'), notReady: fc.boolean() },
    { requiredKeys: [] },
  ),
);
const corrections: fc.Arbitrary<Corrections> = fc
  .dictionary(fc.nat(7).map(String), correction)
  .map((each) => new Map(Object.entries(each).map(([index, value]) => [Number(index), value])));

function editedSlice(
  slice: ModelSlice,
  keep: Uint8Array,
  all: Corrections,
  cutHints: boolean,
): ModelSlice {
  const endpoints = slice.endpoints.flatMap((endpoint, index) => {
    const each = all.get(index);
    if (keep[index] === 0 || each === 'cut') return [];
    const { address, notReady } = each ?? {};
    return {
      ...endpoint,
      hints: cutHints ? undefined : endpoint.hints,
      addresses: address === undefined ? endpoint.addresses : [address],
      conditions:
        notReady === true
          ? { terminating: undefined, ...endpoint.conditions, ready: false, serving: false }
          : endpoint.conditions,
    };
  });
  return { ...slice, endpoints };
}

function editedEndpoints(
  object: ModelEndpoints,
  keep: Uint8Array,
  all: Corrections,
): ModelEndpoints {
  let index = 0;
  const subsets = object.subsets.flatMap((subset) => {
    const edited = (addresses: typeof subset.addresses) =>
      addresses.flatMap((address) => {
        const each = all.get(index);
        if (keep[index++] === 0 || each === 'cut') return [];
        return {
          notReady: each?.notReady,
          address: { ...address, ip: each?.address ?? address.ip },
        };
      });
    const ready = edited(subset.addresses);
    const others = edited(subset.notReadyAddresses);
    const had = subset.addresses.length + subset.notReadyAddresses.length;
    if (had > 0 && ready.length + others.length === 0) return [];
    const stayed = ready.filter(({ notReady }) => notReady !== true);
    const moved = ready.filter(({ notReady }) => notReady === true);
    return {
      ...subset,
      addresses: stayed.map(({ address }) => address),
      notReadyAddresses: [...others, ...moved].map(({ address }) => address),
    };
  });
  return { ...object, subsets };
}

/** The same metadata with the noise of another object. */
function withNoise(meta: ModelMeta, noise: ModelMeta): ModelMeta {
  const { resourceVersion, generation, managedFields } = noise;
  const { [TRIGGER_TIME]: _, ...annotations } = meta.annotations;
  const time = noise.annotations[TRIGGER_TIME];
  if (time !== undefined) annotations[TRIGGER_TIME] = time;
  return { ...meta, resourceVersion, generation, managedFields, annotations };
}

describe.each(CODECS)('any object ($encoding)', (codec) => {
  const { encoding } = codec;
  const encodeSlice = (slice: ModelSlice) => encodeObject(encoding, 'EndpointSlice', slice);
  const encodeEndpoints = (object: ModelEndpoints) => encodeObject(encoding, 'Endpoints', object);
  const runs = { numRuns: propertyRuns(300) };

  test('has the facts, addresses and metadata that it was written with', () => {
    fc.assert(
      fc.property(modelSlice, modelEndpoints, (slice, object) => {
        const [first, second] = [encodeSlice(slice), encodeEndpoints(object)];
        const [expectedSlice, expectedEndpoints] = [ofSlice(slice), ofEndpoints(object)];
        expect(codec.endpoints(ENDPOINT_SLICES, first)).toEqual(expectedSlice.facts);
        expect(codec.endpointGroups(ENDPOINT_SLICES, first)).toMatchObject(expectedSlice.groups);
        expect(codec.endpoints(ENDPOINTS, second)).toEqual(expectedEndpoints.facts);
        expect(codec.endpointGroups(ENDPOINTS, second)).toMatchObject(expectedEndpoints.groups);
        const { labels, annotations, ...meta } = codec.partialMetadata(first);
        expect(Object.fromEntries(labels)).toEqual(slice.metadata.labels);
        expect(Object.fromEntries(annotations)).toEqual(slice.metadata.annotations);
        expect(slice.metadata).toMatchObject(meta);
        expect(codec.meta(first)).toEqual(meta);
      }),
      runs,
    );
  });

  test('is returned itself by an edit that changes nothing', () => {
    const nothing = { keep: new Uint8Array(48).fill(1), cutHints: false, corrections: new Map() };
    fc.assert(
      fc.property(modelSlice, modelEndpoints, (slice, endpoints) => {
        const [first, second] = [encodeSlice(slice), encodeEndpoints(endpoints)];
        expect(codec.edit(ENDPOINT_SLICES, first, nothing)).toBe(first);
        expect(codec.edit(ENDPOINTS, second, nothing)).toBe(second);
        const { resourceVersion } = slice.metadata;
        expect(codec.edit(ENDPOINT_SLICES, first, { resourceVersion }).equals(first)).toBe(true);
      }),
      runs,
    );
  });

  test('stays byte for byte, except for its version and the endpoints and hints that an edit cuts', () => {
    const resourceVersion = '326000001';
    fc.assert(
      fc.property(
        modelSlice,
        modelEndpoints,
        masks,
        fc.boolean(),
        (slice, object, mask, cutHints) => {
          const none: Corrections = new Map();
          const versioned = <M extends { metadata: ModelMeta }>(model: M) => ({
            ...model,
            metadata: { ...model.metadata, resourceVersion },
          });
          const ofSlices = mask.subarray(0, slice.endpoints.length);
          const sliceEdit = { resourceVersion, keep: ofSlices, cutHints };
          const wantedSlice = versioned(editedSlice(slice, ofSlices, none, cutHints));
          expect(
            codec.edit(ENDPOINT_SLICES, encodeSlice(slice), sliceEdit).toString('latin1'),
          ).toBe(encodeSlice(wantedSlice).toString('latin1'));
          const keep = mask.subarray(0, countOf(object));
          const wanted = versioned(editedEndpoints(object, keep, none));
          const edited = codec.edit(ENDPOINTS, encodeEndpoints(object), { resourceVersion, keep });
          expect(edited.toString('latin1')).toBe(encodeEndpoints(wanted).toString('latin1'));
        },
      ),
      runs,
    );
  });

  test('has the corrections of an edit', () => {
    fc.assert(
      fc.property(modelSlice, modelEndpoints, masks, corrections, (slice, object, mask, all) => {
        const ofSlices = mask.subarray(0, slice.endpoints.length);
        const sliceEdit = { keep: ofSlices, cutHints: true, corrections: all };
        expectSameValues(
          encoding,
          'EndpointSlice',
          codec.edit(ENDPOINT_SLICES, encodeSlice(slice), sliceEdit),
          encodeSlice(editedSlice(slice, ofSlices, all, true)),
        );
        const keep = mask.subarray(0, countOf(object));
        expectSameValues(
          encoding,
          'Endpoints',
          codec.edit(ENDPOINTS, encodeEndpoints(object), { keep, corrections: all }),
          encodeEndpoints(editedEndpoints(object, keep, all)),
        );
      }),
      runs,
    );
  });

  test('is the same without noise as one that differs in nothing else, edited or not', () => {
    const withoutNoise = true;
    fc.assert(
      fc.property(modelSlice, modelMeta, masks, fc.boolean(), (slice, noise, mask, cutHints) => {
        const keep = mask.subarray(0, slice.endpoints.length);
        const edit = { keep, cutHints, withoutNoise };
        const bytes = codec.edit(ENDPOINT_SLICES, encodeSlice(slice), edit);
        const same = editedSlice(slice, keep, new Map(), cutHints);
        const other = encodeSlice({ ...same, metadata: withNoise(slice.metadata, noise) });
        const wanted = codec.edit(ENDPOINT_SLICES, other, { withoutNoise });
        expect(bytes.toString('latin1')).toBe(wanted.toString('latin1'));
        expect(ofSliceFacts(bytes)).toEqual(ofSliceFacts(other));
      }),
      runs,
    );
  });

  test('keeps of its annotations only those that are asked for and have 8 KiB at most', () => {
    const names = ['a', TRIGGER_TIME, 'long', 'missing'];
    const fits = 'x'.repeat(8 * 1024);
    fc.assert(
      fc.property(modelSlice, fc.boolean(), (slice, isLarge) => {
        const large: Record<string, string> = { a: fits, long: `${fits}x`, other: fits };
        const annotations = { ...slice.metadata.annotations, ...(isLarge ? large : {}) };
        const kept = Object.entries(annotations).filter(
          ([name]) => name !== 'long' && names.includes(name),
        );
        const wanted = kept.length === 0 ? {} : { annotations: Object.fromEntries(kept) };
        const { annotations: _, managedFields: __, ...meta } = slice.metadata;
        const object = encodeSlice({ ...slice, metadata: { ...slice.metadata, annotations } });
        expectSameValues(
          encoding,
          'EndpointSlice',
          codec.edit(ENDPOINT_SLICES, object, { onlyAnnotations: names }),
          encodeObject(encoding, 'EndpointSlice', { ...slice, metadata: { ...meta, ...wanted } }),
        );
      }),
      runs,
    );
  });

  /** Everything that a codec reads of a slice, except its version. */
  function ofSliceFacts(bytes: Buffer) {
    const { labels, annotations } = codec.partialMetadata(bytes);
    const shown = [...annotations].filter(([key]) => key !== TRIGGER_TIME);
    const facts = { ...codec.endpoints(ENDPOINT_SLICES, bytes), resourceVersion: '' };
    return { facts, labels, shown, groups: codec.endpointGroups(ENDPOINT_SLICES, bytes) };
  }
});

function countOf({ subsets }: ModelEndpoints): number {
  return subsets.flatMap((each) => [...each.addresses, ...each.notReadyAddresses]).length;
}
