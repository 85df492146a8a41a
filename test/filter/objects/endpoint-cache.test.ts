import { expect, test } from '@jest/globals';
import { EndpointCache } from '../../../src/filter/objects/endpoint-cache.ts';

test('each kind of endpoint on a node is itself, however many there are, and equal ones are one object', () => {
  const cache = new EndpointCache();
  for (let kind = 0; kind < 200; kind++) {
    const zone = `zone-${kind}`;
    const given = {
      family: 'IPv4',
      node: 'edge-1',
      zone,
      state: 'ready' as const,
      terminating: false,
    };
    const endpoint = cache.intern({ ...given });
    expect(endpoint).toEqual(given);
    expect(cache.intern(given)).toBe(endpoint);
  }
});
