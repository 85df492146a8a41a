import { expect, test } from '@jest/globals';
import { EndpointCache } from '../../../src/filter/objects/endpoint-cache.ts';

const endpointIn = (zone: string) => ({
  family: 'IPv4',
  node: 'edge-1',
  zone,
  state: 'ready' as const,
  terminating: false,
});

test('each kind of endpoint on a node is itself, however many there are, and equal ones are one object', () => {
  const cache = new EndpointCache();
  for (let kind = 0; kind < 200; kind++) {
    const given = endpointIn(`zone-${kind}`);
    const endpoint = cache.intern({ ...given });
    expect(endpoint).toEqual(given);
    expect(cache.intern(given)).toBe(endpoint);
  }
});

// Any text can be a zone: those of one node were kept after the cache had started again.
test('once its texts take 8 MiB, it has forgotten all before', () => {
  const cache = new EndpointCache();
  const zones = ['a', 'b', 'c'].map((letter) => letter.repeat(3 << 20));
  const [first, , third] = zones.map((zone) => cache.intern(endpointIn(zone)));
  expect(cache.intern(endpointIn(zones[2] ?? ''))).toBe(third);
  expect(cache.intern(endpointIn(zones[0] ?? ''))).not.toBe(first);
});
