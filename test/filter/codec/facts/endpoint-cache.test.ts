import { expect, test } from '@jest/globals';
import { EndpointCache } from '../../../../src/filter/codec/facts/endpoint-cache.ts';

test('each kind of endpoint on a node is itself, however many there are, and equal ones are one object', () => {
  const cache = new EndpointCache();
  for (let kind = 0; kind < 200; kind++) {
    const zone = `zone-${kind}`;
    const endpoint = cache.intern('IPv4', 'edge-1', zone, 'ready');
    expect(endpoint).toMatchObject({ family: 'IPv4', node: 'edge-1', zone, state: 'ready' });
    expect(cache.intern('IPv4', 'edge-1', zone, 'ready')).toBe(endpoint);
  }
});
