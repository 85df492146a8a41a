import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Encoding } from '../../../src/filter/codec/codec.ts';
import type { EndpointCorrection } from '../../../src/filter/codec/pod-endpoint.ts';
import { ENDPOINT_SLICES, ENDPOINTS } from '../../../src/filter/codec/resource.ts';
import { CODECS } from '../../support/codec/codec-fixtures.ts';
import {
  type ModelAddress,
  type ModelEndpoints,
  type ModelMeta,
  type ModelSlice,
  masks,
  modelEndpoints,
  modelSlice,
  TRIGGER_TIME,
  withVersion,
} from '../../support/codec/codec-model.ts';
import { encoderOf } from '../../support/codec/codec-model-encoding.ts';
import { propertyRuns } from '../../support/property-runs.ts';

/*
 * One model of all edits, for both encodings. Edited objects are read by decoders that are independent of the codec:
 * @bufbuild/protobuf and JSON.parse.
 */

type Corrections = ReadonlyMap<number, EndpointCorrection>;

/** The numbers of the fields that are messages. */
interface Shape {
  readonly [number: number]: Shape;
}

const META: Shape = { 11: {}, 12: {}, 17: {} };
const SLICE: Shape = { 1: META, 2: { 2: {}, 5: {}, 8: {} }, 3: {} };
const SUBSETS: Shape = { 1: META, 2: { 1: {}, 2: {}, 3: {} } };

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

/** An object as plain values. Numbers of JSON keep their digits. */
function decode(encoding: Encoding, bytes: Buffer, shape: Shape): unknown {
  if (encoding === 'protobuf') return fieldsOf(bytes, shape);
  const asWritten = (_: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? `number ${context?.source}` : value;
  return JSON.parse(bytes.toString(), asWritten as (key: string, value: unknown) => unknown);
}

const correction: fc.Arbitrary<EndpointCorrection> = fc.oneof(
  fc.constant('cut' as const),
  fc.record(
    { address: fc.constantFrom('10.1.0.9', 'fd00::9'), notReady: fc.boolean() },
    { requiredKeys: [] },
  ),
);
const NO_CORRECTIONS: Corrections = new Map();
const corrections: fc.Arbitrary<Corrections> = fc.oneof(
  fc.constant(NO_CORRECTIONS),
  fc
    .dictionary(fc.nat(7).map(String), correction)
    .map((each) => new Map(Object.entries(each).map(([index, value]) => [Number(index), value]))),
);

function noiseless(slice: ModelSlice): ModelSlice {
  if (slice.meta === undefined) return slice;
  const { [TRIGGER_TIME]: _, ...rest } = slice.meta.annotations ?? {};
  const annotations = Object.keys(rest).length === 0 ? undefined : rest;
  const noise = { resourceVersion: '', generation: undefined, managed: false };
  return { ...slice, meta: { ...slice.meta, ...noise, annotations } };
}

function corrected(
  slice: ModelSlice,
  keep: Uint8Array,
  all: Corrections,
  cutHints: boolean,
): ModelSlice {
  const endpoints = slice.endpoints.flatMap((endpoint, index) => {
    const each = all.get(index);
    if (keep[index] === 0 || each === 'cut') return [];
    const { address = endpoint.address, notReady } = each ?? {};
    const state = notReady === true ? { ready: false, serving: false } : {};
    return { ...endpoint, address, hinted: endpoint.hinted && !cutHints, ...state };
  });
  return { ...slice, endpoints };
}

function correctedSubsets(
  object: ModelEndpoints,
  keep: Uint8Array,
  all: Corrections,
): ModelEndpoints {
  let index = 0;
  const edited = (address: ModelAddress) => {
    const each = all.get(index);
    const isCut = keep[index++] === 0 || each === 'cut';
    const { address: ip = address.ip, notReady = false } = each === 'cut' ? {} : (each ?? {});
    return { isCut, notReady, address: { ...address, ip } };
  };
  const subsets = object.subsets.flatMap((subset) => {
    const ready = subset.ready.map(edited).filter(({ isCut }) => !isCut);
    const others = subset.notReady.map(edited).filter(({ isCut }) => !isCut);
    const moved = ready.filter(({ notReady }) => notReady);
    const had = subset.ready.length + subset.notReady.length;
    if (had > 0 && ready.length + others.length === 0) return [];
    return {
      ...subset,
      ready: ready.filter(({ notReady }) => !notReady).map(({ address }) => address),
      notReady: [...others, ...moved].map(({ address }) => address),
    };
  });
  return { ...object, subsets };
}

describe.each(CODECS)('edit() of any object ($encoding)', (codec) => {
  const { encoding } = codec;
  const encoder = encoderOf(encoding);
  const runs = { numRuns: propertyRuns(300) };
  /** Compares values, and also the bytes if no endpoint was corrected: then the rest stays in its place. */
  const expectSame = (bytes: Buffer, wanted: Buffer, shape: Shape, all: Corrections) => {
    expect(decode(encoding, bytes, shape)).toEqual(decode(encoding, wanted, shape));
    if (all === NO_CORRECTIONS) expect(bytes.toString('hex')).toBe(wanted.toString('hex'));
  };

  test('without anything to change returns the object', () => {
    const nothing = { keep: new Uint8Array(48).fill(1), cutHints: false, corrections: new Map() };
    fc.assert(
      fc.property(modelSlice, modelEndpoints, (slice, endpoints) => {
        const [first, second] = [encoder.slice(slice), encoder.endpoints(endpoints)];
        expect(codec.edit(ENDPOINT_SLICES, first, nothing)).toBe(first);
        expect(codec.edit(ENDPOINTS, second, nothing)).toBe(second);
        const { resourceVersion } = codec.meta(first);
        if (resourceVersion === '') return;
        expect(codec.edit(ENDPOINT_SLICES, first, { resourceVersion }).equals(first)).toBe(true);
      }),
      runs,
    );
  });

  const versioned = <Model extends { readonly meta: ModelMeta | undefined }>(
    model: fc.Arbitrary<Model>,
  ) => model.filter(({ meta }) => (meta?.resourceVersion ?? '') !== '');

  test('of a slice equals a model', () => {
    fc.assert(
      fc.property(
        versioned(modelSlice),
        masks,
        corrections,
        fc.boolean(),
        (slice, mask, all, cutHints) => {
          const keep = mask.subarray(0, slice.endpoints.length);
          const edit = { resourceVersion: '44', keep, corrections: all, cutHints };
          const bytes = codec.edit(ENDPOINT_SLICES, encoder.slice(slice), edit);
          const wanted = withVersion(corrected(slice, keep, all, cutHints), '44');
          expectSame(bytes, encoder.slice(wanted), SLICE, all);
        },
      ),
      runs,
    );
  });

  test('of an Endpoints object equals a model', () => {
    fc.assert(
      fc.property(versioned(modelEndpoints), masks, corrections, (object, mask, all) => {
        const count = object.subsets.reduce(
          (n, each) => n + each.ready.length + each.notReady.length,
          0,
        );
        const keep = mask.subarray(0, count);
        const edit = { resourceVersion: '44', keep, corrections: all };
        const bytes = codec.edit(ENDPOINTS, encoder.endpoints(object), edit);
        const wanted = withVersion(correctedSubsets(object, keep, all), '44');
        expectSame(bytes, encoder.endpoints(wanted), SUBSETS, all);
      }),
      runs,
    );
  });

  test('without noise equals a model without it', () => {
    fc.assert(
      fc.property(modelSlice, masks, corrections, fc.boolean(), (slice, mask, all, cutHints) => {
        const keep = mask.subarray(0, slice.endpoints.length);
        const edit = { keep, corrections: all, cutHints, withoutNoise: true };
        const bytes = codec.edit(ENDPOINT_SLICES, encoder.slice(slice), edit);
        const wanted = encoder.slice(noiseless(corrected(slice, keep, all, cutHints)));
        expectSame(bytes, wanted, SLICE, all);
      }),
      runs,
    );
  });
});
