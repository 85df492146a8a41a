import { describe, expect, test } from '@jest/globals';
import { podEndpoints } from '../../../src/filter/objects/pod-endpoint.ts';
import { ENDPOINT_SLICES, ENDPOINTS } from '../../../src/filter/objects/resource.ts';
import { CODECS } from '../../support/codec/codec-fixtures.ts';
import { encodeObject } from '../../support/codec/encode-object.ts';

const podRef = (name: string) => ({ namespace: 'default', name, uid: `uid-${name}` });
const onNode = (name: string, nodeName = 'edge-1') => ({
  nodeName,
  targetRef: { kind: 'Pod', ...podRef(name) },
});

describe.each(CODECS)('endpoints of Pods ($encoding)', (codec) => {
  test('of a slice on the node are read, with their family and state', () => {
    const object = encodeObject(codec.encoding, 'EndpointSlice', {
      addressType: 'IPv6',
      endpoints: [
        { addresses: ['fd00::9'], ...onNode('far', 'edge-2') },
        { addresses: ['fd00::1'], ...onNode('a') },
        {
          addresses: ['fd00::2'],
          conditions: { ready: false, serving: true, terminating: true },
          ...onNode('b'),
        },
        { addresses: ['fd00::3'], conditions: { ready: true, serving: false }, ...onNode('c') },
        { addresses: ['fd00::4'], nodeName: 'edge-1' },
        { addresses: [], nodeName: 'edge-1', targetRef: { kind: 'Node', name: 'd' } },
      ],
    });
    const one = { family: 'IPv6', state: 'ready', publishedNotReady: false };
    expect(podEndpoints(codec.endpointGroups(ENDPOINT_SLICES, object), 'edge-1')).toEqual([
      { ...one, index: 1, pod: podRef('a'), address: 'fd00::1' },
      { ...one, index: 2, pod: podRef('b'), address: 'fd00::2', state: 'serving' },
      { ...one, index: 3, pod: podRef('c'), address: 'fd00::3', publishedNotReady: true },
    ]);
  });

  test('of an Endpoints object are read, with their family and state', () => {
    const addresses = [{ ip: '10.1.0.2', ...onNode('a') }];
    const notReadyAddresses = [{ ip: 'fd00::1', ...onNode('b') }];
    const subsets = [{ addresses, notReadyAddresses }];
    const object = encodeObject(codec.encoding, 'Endpoints', { subsets });
    const found = podEndpoints(codec.endpointGroups(ENDPOINTS, object), 'edge-1');
    expect(found.map(({ family, state }) => [family, state])).toEqual([
      ['IPv4', 'ready'],
      ['IPv6', 'notReady'],
    ]);
  });
});
