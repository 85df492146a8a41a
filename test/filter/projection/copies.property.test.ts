import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type Backends,
  backendsOf,
  type CachedSlice,
  ordersOf,
} from '../../../harness/history/kube-proxy-cache.ts';
import type { Codec } from '../../../src/filter/codec/codec.ts';
import { JsonCodec } from '../../../src/filter/codec/json/json-codec.ts';
import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import { ENDPOINT_SLICES } from '../../../src/filter/objects/resource.ts';
import { encodeObject } from '../../support/codec/encode-object.ts';
import { propertyRuns } from '../../support/property-runs.ts';
import { decided } from '../../support/topology/decided.ts';

const PORTS = ['a', 'b'] as const;
type Conditions = Readonly<Record<'ready' | 'serving' | 'terminating', boolean>>;
/** Conditions that the endpoint controllers write, without publishNotReadyAddresses. */
const STATES: Readonly<Record<string, Conditions>> = {
  ready: { ready: true, serving: true, terminating: false },
  notReady: { ready: false, serving: false, terminating: false },
  serving: { ready: false, serving: true, terminating: true },
  ended: { ready: false, serving: false, terminating: true },
};

const anyEndpoint = fc.record({
  // Two ways to write one address, among others.
  address: fc.constantFrom('10.0.0.1', '10.0.0.2', '010.0.0.2', '10.0.0.3'),
  node: fc.constantFrom('near', 'far'),
  conditions: fc.constantFrom<Conditions[]>(...Object.values(STATES)),
});
const anySlice = fc.record({
  ports: fc.subarray([...PORTS]),
  number: fc.constantFrom(80, 80, 81, undefined),
  endpoints: fc.array(anyEndpoint, { maxLength: 3 }),
});
const anySlices = fc.array(anySlice, { maxLength: 4 });
type Slice = typeof anySlice extends fc.Arbitrary<infer Value> ? Value : never;

function encode({ encoding }: Codec, { ports, number, endpoints }: Slice): Buffer {
  return encodeObject(encoding, 'EndpointSlice', {
    metadata: { name: 's', namespace: 'default' },
    addressType: 'IPv4',
    ports: ports.map((name) => ({ name, protocol: 'TCP', ...(number && { port: number }) })),
    endpoints: endpoints.map(({ address, node, conditions }) => ({
      addresses: [address],
      nodeName: node,
      conditions,
    })),
  });
}

/** What kube-proxy reads of a slice. */
function cached(codec: Codec, object: Buffer): CachedSlice[] {
  return codec.endpointGroups(ENDPOINT_SLICES, object).map(({ ports, endpoints }) => ({
    ports,
    endpoints: endpoints.map(({ addresses: [first], state, terminating }) => ({
      address: first?.replace(/^0/, ''),
      ready: state === 'ready',
      serving: state === 'serving',
      terminating,
    })),
  }));
}

/** Decides with these keys about slices, and returns what kube-proxy reads then. */
function decideFor(codec: Codec, slices: readonly Slice[], minReady?: readonly number[]) {
  const objects = slices.map((slice) => encode(codec, slice));
  const groups = objects.flatMap((each) => codec.endpoints(ENDPOINT_SLICES, each).groups);
  const ports = PORTS.map((name) => `IPv4 TCP/${name}`);
  const maskOf = ({ node }: { readonly node: string }) => (node === 'near' ? 3 : 2);
  const decision = decided(groups, maskOf, { ports, ...(minReady && { minReady }) });
  let start = 0;
  const shown = objects.flatMap((object, index) => {
    const end = start + (groups[index]?.endpoints.length ?? 0);
    const keep = decision.keep.slice(start, end);
    start = end;
    return cached(codec, codec.edit(ENDPOINT_SLICES, object, { keep }));
  });
  return { decision, shown, raw: objects.flatMap((object) => cached(codec, object)) };
}

describe.each([new JsonCodec(), new ProtobufCodec()])('slices with copies ($encoding)', (codec) => {
  const allNear = (slices: readonly Slice[]) =>
    slices.map((slice) => ({
      ...slice,
      endpoints: slice.endpoints.map((each) => ({ ...each, node: 'near' as const })),
    }));
  const options = { numRuns: propertyRuns(1_000) };

  test('lead kube-proxy to the same backends in each order of its map', () => {
    fc.assert(
      fc.property(anySlices, (slices) => {
        const { shown } = decideFor(codec, slices);
        for (const port of PORTS) {
          const all = ordersOf(shown).map((order) => routesOf(backendsOf(order, `TCP/${port}`)));
          expect(new Set(all.map((routes) => routes.join())).size).toBe(1);
        }
      }),
      options,
    );
  });

  test('lead it to each that it might use without a policy, if a key matches all', () => {
    fc.assert(
      fc.property(anySlices, (slices) => {
        const { shown, raw } = decideFor(codec, allNear(slices));
        for (const port of PORTS) {
          const all = winnersOf(raw).map((order) => backendsOf(order, `TCP/${port}`));
          const ready = new Set(all.flatMap((each) => each.ready));
          const ending = new Set(all.flatMap((each) => each.ending));
          const expected = routesOf({ ready: [...ready].sort(), ending: [...ending].sort() });
          expect(routesOf(backendsOf(shown, `TCP/${port}`))).toEqual(expected);
        }
      }),
      options,
    );
  });

  test('have as many ready endpoints for min-ready as kube-proxy has backends', () => {
    fc.assert(
      fc.property(anySlices, fc.integer({ min: 1, max: 4 }), (slices, needed) => {
        const { decision, shown } = decideFor(codec, allNear(slices), [needed, 1]);
        for (const { port, key, stage } of decision.ports) {
          const { ready } = backendsOf(shown, port);
          expect(stage === 'ready').toBe(ready.length > 0);
          // The second key needs one only.
          if (stage === 'ready') expect(key).toBe(ready.length >= needed ? 0 : 1);
        }
      }),
      options,
    );
  });
});

/** As many orders as there are endpoints, or twice as many, so that each copy is used once if it can be. */
function winnersOf(slices: readonly CachedSlice[]): CachedSlice[][] {
  const single = slices.flatMap(({ ports, endpoints }) =>
    endpoints.map((endpoint) => ({ ports, endpoints: [endpoint] })),
  );
  return single.flatMap((one, at) => {
    const others = single.toSpliced(at, 1);
    return [
      [one, ...others],
      [...others, one],
    ];
  });
}

function routesOf({ ready, ending }: Backends): readonly string[] {
  return ready.length > 0 ? ready : ending;
}
