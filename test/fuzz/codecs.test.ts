import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { WrapperError } from '../../src/errors.ts';
import type { Codec, Edit, ObjectBytes } from '../../src/filter/codec/codec.ts';
import { ENDPOINT_SLICES, ENDPOINTS, SERVICES } from '../../src/filter/objects/resource.ts';
import {
  CODECS,
  chunked,
  codecOf,
  decodeAll,
  FIXTURES,
  type Fixture,
  factsOf,
  LISTS,
  objectsOf,
} from '../support/codec/codec-fixtures.ts';
import { semanticBytes } from '../support/codec/semantic-bytes.ts';
import { budget, FUZZ_TIMEOUT_MS } from './budget.ts';
import { mutate, mutations } from './mutate.ts';

/** A codec must finish an input of some kilobytes in this time, even on a busy machine. */
const HANG_MS = 5_000;

type RandomEdit = Required<Pick<Edit, 'resourceVersion' | 'keep' | 'cutHints'>>;

const edits: fc.Arbitrary<RandomEdit> = fc.record({
  resourceVersion: fc.bigInt({ min: 0n, max: 10n ** 30n }).map(String),
  keep: fc.uint8Array({ max: 1, maxLength: 40 }),
  cutHints: fc.boolean(),
});

/** Runs an action. Throws unless it ends in time, with a result or a WrapperError. */
function attempt<T>(action: () => T): T | undefined {
  const start = performance.now();
  try {
    return action();
  } catch (error) {
    if (!(error instanceof WrapperError)) throw error;
    return undefined;
  } finally {
    expect(performance.now() - start).toBeLessThan(HANG_MS);
  }
}

function readAll(codec: Codec, object: ObjectBytes, edit: RandomEdit): void {
  attempt(() => codec.meta(object));
  attempt(() => codec.partialMetadata(object));
  attempt(() => codec.service(object));
  attempt(() => codec.endpoints(ENDPOINT_SLICES, object));
  attempt(() => codec.endpoints(ENDPOINTS, object));
  attempt(() => semanticBytes(codec, object));
  for (const resource of [ENDPOINT_SLICES, ENDPOINTS, SERVICES]) {
    attempt(() => codec.edit(resource, object, edit));
    attempt(() => codec.encodeObject(resource, object));
    attempt(() => codec.encodeEvent(resource, 'MODIFIED', object));
  }
}

/** Decodes bytes as a Status, a LIST and a watch stream; returns the objects. */
async function decode(codec: Codec, bytes: Buffer, cuts: readonly number[]): Promise<Buffer[]> {
  attempt(() => codec.decodeStatus(bytes));
  const listed = attempt(() => codec.decodeList([bytes]))?.items ?? [];
  const ends = cuts.map((cut) => cut % (bytes.length + 1)).sort((one, two) => one - two);
  try {
    const events = await decodeAll(codec, chunked(bytes, ends), 100_000);
    return [...listed, ...events.flatMap((event) => ('object' in event ? [event.object] : []))];
  } catch (error) {
    if (!(error instanceof WrapperError)) throw error;
    return [...listed];
  }
}

const cuts = fc.array(fc.nat(100_000), { maxLength: 5 });

/** The LIST fixtures of a codec, each with its objects. */
async function listsOf(codec: Codec): Promise<{ list: Fixture; objects: ObjectBytes[] }[]> {
  const lists = LISTS.filter((each) => each.codec === codec);
  return await Promise.all(lists.map(async (list) => ({ list, objects: await objectsOf(list) })));
}

const SOURCES = ['random bytes', 'damaged answers of an API server', 'damaged objects'] as const;

/** Inputs of a codec from one source. */
async function inputs(
  codec: Codec,
  source: (typeof SOURCES)[number],
): Promise<fc.Arbitrary<Buffer>> {
  if (source === 'random bytes') {
    return fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));
  }
  const whole =
    source === 'damaged objects'
      ? (await listsOf(codec)).flatMap((each) => each.objects)
      : FIXTURES.filter((each) => each.codec === codec).map(({ bytes }) => bytes);
  return fc
    .tuple(fc.constantFrom(...whole), mutations)
    .map(([bytes, damage]) => mutate(bytes, damage));
}

describe.each(CODECS)(
  'the codec throws only WrapperErrors and does not hang ($encoding)',
  (codec) => {
    test.each(SOURCES)(
      'on %s',
      async (source) => {
        const property = fc.asyncProperty(
          await inputs(codec, source),
          cuts,
          edits,
          async (bytes, ends, edit) => {
            readAll(codec, bytes, edit);
            const objects = await decode(codec, bytes, ends);
            for (const object of objects.slice(0, 20)) readAll(codec, object, edit);
          },
        );
        await fc.assert(property, budget);
      },
      FUZZ_TIMEOUT_MS,
    );
  },
);

describe('splice()', () => {
  // In JSON, an object is parsed and written again as a whole.
  test(
    'turns an object in protobuf that can be read into one that can be read',
    async () => {
      const lists = (await listsOf(codecOf('protobuf'))).filter(({ list }) => !list.metadataOnly);
      const cases = lists.flatMap(({ list, objects }) =>
        objects.map((object) => ({ list, object })),
      );
      const property = fc.property(
        fc.constantFrom(...cases),
        fc.option(mutations),
        edits,
        (from, damage, edit) => {
          const object = damage === null ? from.object : mutate(from.object, damage);
          expectValidSplice(from.list, object, edit);
        },
      );
      fc.assert(property, budget);
    },
    FUZZ_TIMEOUT_MS,
  );
});

/** If an object can be read in every way, so can the spliced object, which has the requested version. */
function expectValidSplice({ codec, resource }: Fixture, object: Buffer, edit: RandomEdit): void {
  const facts = attempt(() => factsOf(codec, resource, object));
  const same = attempt(() => semanticBytes(codec, object));
  if (facts === undefined || same === undefined) return;
  const endpoints = (facts as { groups?: { endpoints: unknown[] }[] }).groups;
  const count = endpoints?.reduce((sum, group) => sum + group.endpoints.length, 0) ?? 0;
  const keep = Uint8Array.from({ length: count }, (_, index) => edit.keep[index] ?? 0);
  const { resourceVersion, cutHints } = edit;
  const full = endpoints === undefined ? { resourceVersion } : { resourceVersion, keep, cutHints };
  const spliced = attempt(() => codec.edit(resource, object, full));
  if (spliced === undefined) return;
  expect(codec.meta(spliced).resourceVersion).toBe(resourceVersion);
  factsOf(codec, resource, spliced);
  semanticBytes(codec, spliced);
}
