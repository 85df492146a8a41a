import { describe, expect, test } from '@jest/globals';
import type { Endpoint, EndpointState } from '../../../src/topology/decide/endpoint.ts';
import { decideWithReasons } from '../../support/projection/decide-with-reasons.ts';

function on(node: string, state: EndpointState = 'ready'): Endpoint {
  return { family: 'IPv4', node, zone: '', state };
}

const matches = (key: string, { node }: Endpoint): boolean => key === '*' || node === key;

function reasons(keys: string[], ...endpoints: Endpoint[]): string[] {
  return decideWithReasons([{ ports: ['TCP/http'], endpoints }], keys, matches).map(
    ({ kept, reason }) => `${kept ? 'kept' : 'cut'}: ${reason}`,
  );
}

describe('endpointReasons()', () => {
  test('names the key that won, and the keys that lost', () => {
    expect(reasons(['here', 'site', '*'], on('site'), on('far'))).toEqual([
      'kept: site matches, and has ready endpoints',
      'cut: * matches, but site has ready endpoints',
    ]);
  });

  test('an endpoint that is kept for one port only has the reason of that port', () => {
    const groups = [
      { ports: ['TCP/http'], endpoints: [on('here')] },
      { ports: ['TCP/http', 'TCP/metrics'], endpoints: [on('site', 'notReady')] },
    ];
    expect(decideWithReasons(groups, ['here', 'site'], matches)).toMatchObject([
      { kept: true, reason: 'here matches, and has ready endpoints' },
      { kept: true, reason: 'site matches; no endpoint is ready or serving' },
    ]);
  });

  test('says that no key matches', () => {
    expect(reasons(['here'], on('far'))).toEqual(['cut: no key matches']);
  });

  test('says that only terminating endpoints are left, or that no endpoint is usable', () => {
    expect(reasons(['here', '*'], on('here', 'serving'), on('far', 'notReady'))).toEqual([
      'kept: here matches, and has serving endpoints',
      'cut: * matches, but here has serving endpoints',
    ]);
    expect(reasons(['here', '*'], on('far', 'notReady'))).toEqual([
      'kept: * matches; no endpoint is ready or serving',
    ]);
  });
});
