import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { WrapperError } from '../../src/errors.ts';
import type { Codec, Edit, ObjectBytes } from '../../src/filter/codec/codec.ts';
import { ENDPOINT_SLICES, ENDPOINTS, SERVICES } from '../../src/filter/codec/resource.ts';
import {
  CODECS,
  chunked,
  decodeAll,
  FIXTURES,
  type Fixture,
  factsOf,
  LISTS,
  objectsOf,
} from '../support/codec/codec-fixtures.ts';
import { budget, FUZZ_TIMEOUT_MS } from './budget.ts';
import { mutate, mutations } from './mutate.ts';

/** No input of some kilobytes may keep a codec busy for longer; a loaded machine is slow. */
const HANG_MS = 5_000;

type RandomEdit = Required<Edit>;

const edits: fc.Arbitrary<RandomEdit> = fc.record({
  resourceVersion: fc.bigInt({ min: 0n, max: 10n ** 30n }).map(String),
  keep: fc.uint8Array({ max: 1, maxLength: 40 }),
  cutHints: fc.boolean(),
});

/** Runs it; throws unless it comes to an end soon, with a result or one of our errors. */
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
  attempt(() => codec.endpointSlice(object));
  attempt(() => codec.endpoints(object));
  attempt(() => codec.semanticBytes(object));
  for (const resource of [ENDPOINT_SLICES, ENDPOINTS, SERVICES]) {
    attempt(() => codec.splice(resource, object, edit));
    attempt(() => codec.encodeObject(resource, object));
    attempt(() => codec.encodeEvent(resource, 'MODIFIED', object));
  }
}

/** Decodes bytes as whatever they may be. */
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

describe('codecs throw nothing but a WrapperError, and do not hang,', () => {
  test.each(CODECS)(
    'on random bytes ($encoding)',
    async (codec) => {
      const property = fc.asyncProperty(
        fc.uint8Array({ maxLength: 400 }),
        cuts,
        edits,
        async (random, ends, edit) => {
          const bytes = Buffer.from(random);
          readAll(codec, bytes, edit);
          for (const object of await decode(codec, bytes, ends)) readAll(codec, object, edit);
        },
      );
      await fc.assert(property, budget);
    },
    FUZZ_TIMEOUT_MS,
  );

  test.each(CODECS)(
    'on damaged answers of an API server ($encoding)',
    async (codec) => {
      const fixtures = FIXTURES.filter((each) => each.codec === codec);
      const property = fc.asyncProperty(
        fc.constantFrom(...fixtures),
        mutations,
        cuts,
        edits,
        async ({ bytes }, damage, ends, edit) => {
          const objects = await decode(codec, mutate(bytes, damage), ends);
          for (const object of objects.slice(0, 20)) readAll(codec, object, edit);
        },
      );
      await fc.assert(property, budget);
    },
    FUZZ_TIMEOUT_MS,
  );

  test.each(CODECS)(
    'on damaged objects ($encoding)',
    async (codec) => {
      const lists = LISTS.filter((each) => each.codec === codec);
      const objects = (await Promise.all(lists.map(objectsOf))).flat();
      const property = fc.property(
        fc.constantFrom(...objects),
        mutations,
        edits,
        (object, damage, edit) => readAll(codec, mutate(object, damage), edit),
      );
      fc.assert(property, budget);
    },
    FUZZ_TIMEOUT_MS,
  );
});

describe('splice()', () => {
  test.each(CODECS)(
    'makes of an object that reads well one that reads well ($encoding)',
    async (codec) => {
      const lists = LISTS.filter((each) => each.codec === codec && !each.metadataOnly);
      const sources = await Promise.all(
        lists.map(async (list) => ({ list, objects: await objectsOf(list) })),
      );
      const cases = sources.flatMap(({ list, objects }) =>
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

/** Where all readings succeed, those of the result do, with the version that was asked for. */
function expectValidSplice({ codec, resource }: Fixture, object: Buffer, edit: RandomEdit): void {
  const facts = attempt(() => factsOf(codec, resource, object));
  const same = attempt(() => codec.semanticBytes(object));
  if (facts === undefined || same === undefined) return;
  const isText = codec.encoding === 'json';
  if (isText && attempt(() => isJson(object)) !== true) return;
  const endpoints = (facts as { groups?: { endpoints: unknown[] }[] }).groups;
  const count = endpoints?.reduce((sum, group) => sum + group.endpoints.length, 0) ?? 0;
  const keep = Uint8Array.from({ length: count }, (_, index) => edit.keep[index] ?? 0);
  const { resourceVersion, cutHints } = edit;
  const full = endpoints === undefined ? { resourceVersion } : { resourceVersion, keep, cutHints };
  const spliced = attempt(() => codec.splice(resource, object, full));
  if (spliced === undefined) return;
  expect(codec.meta(spliced).resourceVersion).toBe(resourceVersion);
  factsOf(codec, resource, spliced);
  codec.semanticBytes(spliced);
  if (isText) expect(isJson(spliced)).toBe(true);
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}
