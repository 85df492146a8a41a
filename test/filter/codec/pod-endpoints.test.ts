import { describe, expect, test } from '@jest/globals';
import type { Codec, ObjectBytes } from '../../../src/filter/codec/codec.ts';
import type { EndpointCorrection, PodEndpoint } from '../../../src/filter/codec/pod-endpoint.ts';
import { ENDPOINT_SLICES, ENDPOINTS, type Resource } from '../../../src/filter/codec/resource.ts';
import { CODECS } from '../../support/codec/codec-fixtures.ts';
import { encodeObject } from '../../support/codec/encode-object.ts';

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
    nodeName: 'edge-1',
    targetRef: refTo(name),
    zone: 'z1',
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

describe.each(CODECS)('endpoints of Pods ($encoding)', (codec) => {
  test('of a slice on the node are read, with their family and state', () => {
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
        index: 1,
        pod: pod('a'),
        address: 'fd00::1',
        family: 'IPv6',
        state: 'ready',
        publishedNotReady: false,
      },
      {
        index: 2,
        pod: pod('b'),
        address: 'fd00::2',
        family: 'IPv6',
        state: 'serving',
        publishedNotReady: false,
      },
      {
        index: 3,
        pod: pod('c'),
        address: 'fd00::3',
        family: 'IPv6',
        state: 'ready',
        publishedNotReady: true,
      },
    ]);
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

  test('of an Endpoints object are read, with their family and state', () => {
    const object = encodeObject(codec.encoding, 'Endpoints', {
      metadata: METADATA,
      subsets: [
        { addresses: [address('a', '10.1.0.2')], notReadyAddresses: [address('b', 'fd00::1')] },
      ],
    });
    const found = read(codec, ENDPOINTS, object).map(({ family, state }) => [family, state]);
    expect(found).toEqual([
      ['IPv4', 'ready'],
      ['IPv6', 'notReady'],
    ]);
  });
});
