import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Codec, ObjectBytes } from '../../../src/filter/codec/codec.ts';
import type { EndpointCorrection, PodEndpoint } from '../../../src/filter/codec/pod-endpoint.ts';
import { ENDPOINT_SLICES, ENDPOINTS, type Resource } from '../../../src/filter/codec/resource.ts';
import { CODECS } from '../../support/codec/codec-fixtures.ts';
import { encodeObject } from '../../support/codec/encode-object.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const METADATA = {
  name: 'web-a',
  namespace: 'default',
  uid: 'u',
  resourceVersion: '7',
  labels: { 'kubernetes.io/service-name': 'web' },
};
const PORTS = [{ name: 'http', protocol: 'TCP', port: 80 }];

interface SliceEndpoint {
  readonly addresses: readonly string[];
  readonly conditions?: Readonly<Record<string, boolean>>;
  readonly nodeName?: string;
  readonly targetRef?: Readonly<Record<string, string>>;
  readonly zone?: string;
}

const refTo = (name: string) => ({ kind: 'Pod', namespace: 'default', name, uid: `uid-${name}` });

function local(name: string, ip: string, conditions?: Record<string, boolean>): SliceEndpoint {
  return {
    addresses: [ip],
    ...(conditions && { conditions }),
    ...{ nodeName: 'edge-1', targetRef: refTo(name), zone: 'z1' },
  };
}

const REMOTE: SliceEndpoint = {
  addresses: ['10.2.0.9'],
  conditions: { ready: true, serving: true, terminating: false },
  nodeName: 'edge-2',
  targetRef: refTo('far'),
};

function slice(codec: Codec, endpoints: readonly SliceEndpoint[], addressType = 'IPv4') {
  const object = { metadata: METADATA, endpoints, ports: PORTS, addressType };
  return encodeObject(codec.encoding, 'EndpointSlice', object);
}

interface Address {
  readonly ip: string;
  readonly nodeName?: string;
  readonly targetRef?: Readonly<Record<string, string>>;
}

function endpoints(
  codec: Codec,
  subsets: readonly { addresses?: readonly Address[]; notReadyAddresses?: readonly Address[] }[],
) {
  const object = {
    metadata: METADATA,
    subsets: subsets.map((each) => ({ ...each, ports: PORTS })),
  };
  return encodeObject(codec.encoding, 'Endpoints', object);
}

const address = (name: string, ip: string): Address => ({
  ip,
  nodeName: 'edge-1',
  targetRef: refTo(name),
});

/** Corrects endpoints by the name of their Pod. */
function correct(
  codec: Codec,
  resource: Resource,
  object: ObjectBytes,
  corrections: Readonly<Record<string, EndpointCorrection>>,
): ObjectBytes {
  const chosen = new Map<number, EndpointCorrection>();
  for (const { index, pod } of codec.podEndpoints(resource, object, 'edge-1')) {
    const correction = corrections[pod.name];
    if (correction !== undefined) chosen.set(index, correction);
  }
  return codec.edit(resource, object, { corrections: chosen });
}

/** The endpoints of Pods on edge-1. */
function read(codec: Codec, resource: Resource, object: ObjectBytes): readonly PodEndpoint[] {
  return codec.podEndpoints(resource, object, 'edge-1');
}

/** All endpoints as `address state`. */
function shown(codec: Codec, resource: Resource, object: ObjectBytes): string[] {
  const facts = resource === ENDPOINTS ? codec.endpoints(object) : codec.endpointSlice(object);
  const states = facts.groups.flatMap((group) => group.endpoints.map(({ state }) => state));
  const addresses = codec.addresses(resource, object).flatMap((group) => group.endpoints);
  return addresses.map(([first], index) => `${first} ${states[index]}`);
}

describe.each(CODECS)('corrections of a slice ($encoding)', (codec) => {
  test('reads the endpoints of Pods on the node, with their family and state', () => {
    const object = slice(
      codec,
      [
        REMOTE,
        local('a', 'fd00::1'),
        local('b', 'fd00::2', { ready: false, serving: true, terminating: true }),
        local('c', 'fd00::3', { ready: true, serving: false }),
        { addresses: ['fd00::4'], nodeName: 'edge-1' },
        { ...local('d', 'fd00::5'), targetRef: { ...refTo('d'), kind: 'Node' } },
      ],
      'IPv6',
    );
    const pod = (name: string) => ({ namespace: 'default', name, uid: `uid-${name}` });
    expect(read(codec, ENDPOINT_SLICES, object)).toEqual([
      {
        ...{ index: 1, pod: pod('a'), address: 'fd00::1', family: 'IPv6' },
        ...{ state: 'ready', publishedNotReady: false },
      },
      {
        ...{ index: 2, pod: pod('b'), address: 'fd00::2', family: 'IPv6' },
        ...{ state: 'serving', publishedNotReady: false },
      },
      {
        ...{ index: 3, pod: pod('c'), address: 'fd00::3', family: 'IPv6' },
        ...{ state: 'ready', publishedNotReady: true },
      },
    ]);
  });

  test('returns the same bytes if nothing changes', () => {
    const object = slice(codec, [REMOTE, local('a', '10.1.0.2')]);
    expect(correct(codec, ENDPOINT_SLICES, object, {})).toBe(object);
    expect(correct(codec, ENDPOINT_SLICES, object, { far: 'cut' })).toBe(object);
  });

  test('replaces the address, and nothing else', () => {
    const before = [REMOTE, local('a', '10.1.0.2', { ready: true })];
    const after = [REMOTE, local('a', '10.1.0.123', { ready: true })];
    const corrected = correct(codec, ENDPOINT_SLICES, slice(codec, before), {
      a: { address: '10.1.0.123' },
    });
    expect(corrected).toEqual(slice(codec, after));
  });

  test('replaces all addresses of an endpoint by one', () => {
    const several = { ...local('a', ''), addresses: ['10.1.0.2', '10.1.0.3'] };
    const none = { ...local('a', ''), addresses: [] };
    for (const each of [several, none]) {
      const corrected = correct(codec, ENDPOINT_SLICES, slice(codec, [each]), {
        a: { address: '10.1.0.9' },
      });
      expect(codec.addresses(ENDPOINT_SLICES, corrected)[0]?.endpoints).toEqual([['10.1.0.9']]);
    }
  });

  test.each([
    ['absent', undefined],
    ['ready', { ready: true, serving: true, terminating: false }],
    ['serving', { ready: false, serving: true, terminating: true }],
  ])('makes an endpoint not ready whose conditions are %s', (_, conditions) => {
    const object = slice(codec, [local('a', '10.1.0.2', conditions), REMOTE]);
    const corrected = correct(codec, ENDPOINT_SLICES, object, { a: { notReady: true } });
    expect(shown(codec, ENDPOINT_SLICES, corrected)).toEqual([
      '10.1.0.2 notReady',
      '10.2.0.9 ready',
    ]);
    expect(read(codec, ENDPOINT_SLICES, corrected)[0]?.publishedNotReady).toBe(false);
  });

  test('cuts an endpoint', () => {
    const object = slice(codec, [local('a', '10.1.0.2'), REMOTE, local('b', '10.1.0.3')]);
    const corrected = correct(codec, ENDPOINT_SLICES, object, { a: 'cut' });
    expect(corrected).toEqual(slice(codec, [REMOTE, local('b', '10.1.0.3')]));
  });
});

describe.each(CODECS)('corrections of an Endpoints object ($encoding)', (codec) => {
  const far = { ip: '10.2.0.9', nodeName: 'edge-2', targetRef: refTo('far') };

  test('replaces the address of ready and of other endpoints', () => {
    const object = endpoints(codec, [
      { addresses: [far, address('a', '10.1.0.2')], notReadyAddresses: [address('b', 'fd00::1')] },
    ]);
    const families = read(codec, ENDPOINTS, object).map(({ family, state }) => [family, state]);
    expect(families).toEqual([
      ['IPv4', 'ready'],
      ['IPv6', 'notReady'],
    ]);
    const corrected = correct(codec, ENDPOINTS, object, {
      a: { address: '10.1.0.77' },
      b: { address: 'fd00::2' },
    });
    const expected = endpoints(codec, [
      { addresses: [far, address('a', '10.1.0.77')], notReadyAddresses: [address('b', 'fd00::2')] },
    ]);
    expect(corrected).toEqual(expected);
  });

  test('moves an endpoint that is not ready to notReadyAddresses', () => {
    const object = endpoints(codec, [
      { addresses: [address('a', '10.1.0.2'), far] },
      { addresses: [address('b', '10.1.0.3')] },
    ]);
    const corrected = correct(codec, ENDPOINTS, object, {
      a: { notReady: true, address: '10.1.0.200' },
      b: { notReady: true },
    });
    expect(shown(codec, ENDPOINTS, corrected)).toEqual([
      ...['10.2.0.9 ready', '10.1.0.200 notReady'],
      '10.1.0.3 notReady',
    ]);
  });

  test('cuts an endpoint, and a subset that loses its last one', () => {
    const object = endpoints(codec, [
      { addresses: [address('a', '10.1.0.2'), far], notReadyAddresses: [address('b', '10.1.0.3')] },
      { notReadyAddresses: [address('a', '10.1.0.2')] },
    ]);
    const corrected = correct(codec, ENDPOINTS, object, { a: 'cut', b: 'cut' });
    expect(corrected).toEqual(endpoints(codec, [{ addresses: [far], notReadyAddresses: [] }]));
  });
});

describe.each(CODECS)('corrections of any slice ($encoding)', (codec) => {
  const names = ['a', 'b', 'c', 'd'];
  const conditions = fc.constantFrom<Record<string, boolean> | undefined>(
    undefined,
    { ready: true },
    { ready: false, serving: false, terminating: false },
    { ready: false, serving: true, terminating: true },
  );
  const correction = fc.oneof(
    fc.constant('cut' as const),
    fc.record(
      { address: fc.constantFrom('10.1.0.9', '10.1.200.200'), notReady: fc.boolean() },
      { requiredKeys: [] },
    ),
  );

  test('equals a model that changes the objects', () => {
    const all = fc.array(fc.tuple(fc.constantFrom(...names), conditions, fc.boolean()));
    const corrections = fc.dictionary(fc.constantFrom(...names), correction);
    fc.assert(
      fc.property(all, corrections, (each, chosen) => {
        const before = each.map(([name, state, isLocal], index) => {
          const endpoint = local(name, `10.1.1.${index}`, state);
          return isLocal ? endpoint : { ...endpoint, nodeName: 'edge-2' };
        });
        const after = before.flatMap((endpoint) => modelOf(endpoint, chosen));
        const corrected = correct(codec, ENDPOINT_SLICES, slice(codec, before), chosen);
        const expected = slice(codec, after);
        expect(shown(codec, ENDPOINT_SLICES, corrected)).toEqual(
          shown(codec, ENDPOINT_SLICES, expected),
        );
        expect(codec.endpointSlice(corrected)).toEqual(codec.endpointSlice(expected));
        expect(read(codec, ENDPOINT_SLICES, corrected)).toEqual(
          read(codec, ENDPOINT_SLICES, expected),
        );
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  function modelOf(
    endpoint: SliceEndpoint,
    chosen: Readonly<Record<string, EndpointCorrection>>,
  ): SliceEndpoint[] {
    const correction = chosen[endpoint.targetRef?.name ?? ''];
    if (endpoint.nodeName !== 'edge-1' || correction === undefined) return [endpoint];
    if (correction === 'cut') return [];
    const { address: ip, notReady } = correction;
    return [
      {
        ...endpoint,
        ...(ip === undefined ? {} : { addresses: [ip] }),
        ...(notReady === true
          ? { conditions: { ...endpoint.conditions, ready: false, serving: false } }
          : {}),
      },
    ];
  }
});
