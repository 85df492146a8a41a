import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ENDPOINT_SLICES } from '../../../src/filter/codec/resource.ts';
import { CODECS, type Fixture, fixture, objectsOf } from '../../support/codec/codec-fixtures.ts';
import {
  type ModelMeta,
  type ModelSlice,
  modelMeta,
  modelSlice,
  TRIGGER_TIME,
} from '../../support/codec/codec-model.ts';
import { encoderOf } from '../../support/codec/codec-model-encoding.ts';
import { semanticBytes } from '../../support/codec/semantic-bytes.ts';
import { propertyRuns } from '../../support/property-runs.ts';

/** A slice that always has metadata, because these tests change it. */
const slices = fc
  .tuple(modelSlice, modelMeta)
  .map(([slice, meta]): ModelSlice & { readonly meta: ModelMeta } => ({ ...slice, meta }));

function withoutTriggerTime({ annotations }: ModelMeta): Record<string, string> {
  const { [TRIGGER_TIME]: _, ...rest } = annotations;
  return rest;
}

/** Changes that kube-proxy does not need. */
const noise = fc.record({
  resourceVersion: fc.constantFrom('', '1', '99999999999'),
  generation: fc.nat(),
  managed: fc.boolean(),
  triggerTime: fc.option(fc.string(), { nil: undefined }),
});

/** Each of these changes one field that kube-proxy acts on. */
const changes: readonly [string, (slice: ModelSlice & { meta: ModelMeta }) => ModelSlice][] = [
  ['its name', (slice) => ({ ...slice, meta: { ...slice.meta, name: `${slice.meta.name}x` } })],
  ['its uid', (slice) => ({ ...slice, meta: { ...slice.meta, uid: `${slice.meta.uid}x` } })],
  [
    'a label',
    (slice) => ({ ...slice, meta: { ...slice.meta, labels: { ...slice.meta.labels, new: '' } } }),
  ],
  [
    'an annotation',
    ({ meta, ...slice }) => ({
      ...slice,
      meta: { ...meta, annotations: { ...meta.annotations, new: '' } },
    }),
  ],
  ['an unknown field', (slice) => ({ ...slice, unknown: !slice.unknown })],
  [
    'an unknown field of its metadata',
    (slice) => ({ ...slice, meta: { ...slice.meta, unknown: !slice.meta.unknown } }),
  ],
  ['its address type', (slice) => ({ ...slice, addressType: `${slice.addressType}x` })],
  [
    'a port',
    (slice) => ({
      ...slice,
      ports: [...slice.ports, { name: 'new', protocol: undefined, port: 80 }],
    }),
  ],
  [
    'an endpoint',
    (slice) => ({
      ...slice,
      endpoints: [
        ...slice.endpoints,
        {
          address: '10.0.0.9',
          node: undefined,
          zone: undefined,
          deprecatedZone: undefined,
          ready: undefined,
          serving: undefined,
          terminating: undefined,
          hinted: false,
          unknown: false,
        },
      ],
    }),
  ],
];

describe.each(CODECS)('semantic bytes ($encoding)', (codec) => {
  const encoder = encoderOf(codec.encoding);
  const semanticText = (slice: ModelSlice) =>
    semanticBytes(codec, encoder.slice(slice)).toString('latin1');

  test('do not change with version, generation, managed fields and the trigger time', () => {
    fc.assert(
      fc.property(slices, noise, (slice, { triggerTime, ...other }) => {
        const annotations = withoutTriggerTime(slice.meta);
        if (triggerTime !== undefined) annotations[TRIGGER_TIME] = triggerTime;
        const noisy = { ...slice, meta: { ...slice.meta, ...other, annotations } };
        expect(semanticText(noisy)).toBe(semanticText(slice));
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  test.each(changes)('change with %s', (_, change) => {
    fc.assert(
      fc.property(slices, (slice) => {
        expect(semanticText(change(slice))).not.toBe(semanticText(slice));
      }),
      { numRuns: propertyRuns(50) },
    );
  });

  test('do not read a key within a text as a key', () => {
    const decoy = fc.constantFrom(TRIGGER_TIME, '"resourceVersion":"1"', 'managedFields');
    fc.assert(
      fc.property(slices, decoy, (slice, text) => {
        const labelled = (label: string) =>
          semanticText({ ...slice, meta: { ...slice.meta, labels: { [text]: label, b: text } } });
        expect(labelled('1')).not.toBe(labelled('2'));
      }),
      { numRuns: propertyRuns(50) },
    );
  });
});

describe('a kube-apiserver', () => {
  test.each(['pb', 'json'])(
    'sends MODIFIED events without a semantic change (%s)',
    async (extension) => {
      // While a Pod fails and recovers, the headless Service's Endpoints lose only the trigger time.
      const watch: Fixture = fixture(`endpoints.watchlist.${extension}`);
      const objects = await objectsOf(watch);
      const headless = objects.filter((each) => watch.codec.meta(each).name === 'headless');
      const versions = new Set(headless.map((each) => watch.codec.meta(each).resourceVersion));
      const meanings = new Set(
        headless.map((each) => semanticBytes(watch.codec, each).toString('hex')),
      );
      expect([versions.size, meanings.size]).toEqual([3, 2]);
    },
  );
});

describe.each(CODECS)('semantic bytes after an edit ($encoding)', (codec) => {
  const encoder = encoderOf(codec.encoding);

  test('are the semantic bytes of the spliced object', () => {
    const masks = fc.uint8Array({ min: 0, max: 1, minLength: 20, maxLength: 20 });
    fc.assert(
      fc.property(slices, masks, fc.boolean(), (slice, mask, cutHints) => {
        const object = encoder.slice(slice);
        const keep = Uint8Array.from(slice.endpoints, (_, index) => mask[index % 20] as number);
        const edit = { keep, cutHints };
        const after = codec.edit(ENDPOINT_SLICES, object, { ...edit, withoutNoise: true });
        const spliced = codec.edit(ENDPOINT_SLICES, object, { ...edit, resourceVersion: '7' });
        expect(after.toString('latin1')).toBe(semanticBytes(codec, spliced).toString('latin1'));
      }),
    );
  });
});
