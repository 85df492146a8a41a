import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Codec, EndpointsFacts, ObjectBytes } from '../../../src/filter/codec/codec.ts';
import { ENDPOINT_SLICES, NODES, SERVICES } from '../../../src/filter/codec/resource.ts';
import { CODECS, factsOf, fixture, LISTS, objectsOf } from '../../support/codec/codec-fixtures.ts';
import {
  endpointsFacts,
  modelEndpoints,
  modelSlice,
  sliceFacts,
} from '../../support/codec/codec-model.ts';
import { encoderOf } from '../../support/codec/codec-model-encoding.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const VERSION = '326000001';

function countOf({ groups }: EndpointsFacts): number {
  return groups.reduce((sum, { endpoints }) => sum + endpoints.length, 0);
}

function textOf(codec: Codec, object: ObjectBytes): string {
  return object.toString(codec.encoding === 'json' ? 'utf8' : 'hex');
}

describe.each(CODECS)('facts ($encoding)', (codec) => {
  const encoder = encoderOf(codec.encoding);

  test('of any slice are the values it was written with', () => {
    fc.assert(
      fc.property(modelSlice, (slice) => {
        expect(codec.endpointSlice(encoder.slice(slice))).toEqual(sliceFacts(slice));
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  test('of any Endpoints object are the values it was written with', () => {
    fc.assert(
      fc.property(modelEndpoints, (object) => {
        expect(codec.endpoints(encoder.endpoints(object))).toEqual(endpointsFacts(object));
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  test('of any metadata are the values it was written with', () => {
    fc.assert(
      fc.property(modelSlice, (slice) => {
        const labelled = codec.partialMetadata(encoder.slice(slice));
        const { labels = {}, annotations = {} } = slice.meta ?? {};
        expect(Object.fromEntries(labelled.labels)).toEqual(labels);
        expect(Object.fromEntries(labelled.annotations)).toEqual(annotations);
        const { namespace, name, uid, resourceVersion } = sliceFacts(slice);
        expect(codec.meta(encoder.slice(slice))).toEqual({ namespace, name, uid, resourceVersion });
      }),
      { numRuns: propertyRuns(200) },
    );
  });
});

describe.each(LISTS)('splice() of the objects of $file', (list) => {
  const { codec, resource } = list;

  test('changes only the version when nothing is cut', async () => {
    const objects = await objectsOf(list);
    const spliced = objects.map((object) =>
      codec.edit(resource, object, { resourceVersion: VERSION }),
    );
    const allFacts = (all: ObjectBytes[]) => all.map((each) => factsOf(codec, resource, each));
    expect(allFacts(spliced)).toEqual(
      allFacts(objects).map((facts) => Object.assign({}, facts, { resourceVersion: VERSION })),
    );
    const back = spliced.map((object, index) => {
      const { resourceVersion } = codec.meta(objects[index] ?? object);
      return textOf(codec, codec.edit(resource, object, { resourceVersion }));
    });
    expect(back).toEqual(objects.map((each) => textOf(codec, each)));
  });
});

describe.each(['pb', 'json'])('splice() of real slices (%s)', (extension) => {
  const slices = fixture(`endpointslices.list.${extension}`);
  const { codec } = slices;

  test('refuses a mask made for another object', async () => {
    const objects = await objectsOf(slices);
    const object = objects.find((each) => countOf(codec.endpointSlice(each)) === 4);
    const cut = (keep: Uint8Array) => () =>
      codec.edit(ENDPOINT_SLICES, object ?? Buffer.alloc(0), { resourceVersion: '1', keep });
    expect(cut(new Uint8Array(3))).toThrow('a decision about 3 endpoints for an object with 4');
    expect(cut(new Uint8Array(5))).toThrow('a decision about 5 endpoints for an object with 4');
    expect(cut(new Uint8Array(4))).not.toThrow();
  });

  test.each([SERVICES, NODES])('ignores a mask for $plural', async (resource) => {
    const [object = Buffer.alloc(0)] = await objectsOf(slices);
    const edit = { resourceVersion: VERSION, keep: new Uint8Array(7), cutHints: true };
    const spliced = codec.edit(resource, object, edit);
    expect(textOf(codec, spliced)).toBe(
      textOf(codec, codec.edit(resource, object, { resourceVersion: VERSION })),
    );
  });
});
