import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { countedPorts } from '../../../src/topology/decide/counted-ports.ts';
import { decide } from '../../../src/topology/decide/decide.ts';
import type {
  Endpoint,
  EndpointGroup,
  EndpointState,
} from '../../../src/topology/decide/endpoint.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const anyEndpoint = fc.record({
  family: fc.constant('IPv4'),
  node: fc.constantFrom('near', 'far'),
  zone: fc.constant(''),
  state: fc.constantFrom<EndpointState[]>('ready', 'serving', 'notReady'),
  terminating: fc.boolean(),
});
const anyGroup: fc.Arbitrary<EndpointGroup> = fc
  .record({
    ports: fc.subarray(['TCP/a', 'TCP/b', 'TCP/c']),
    number: fc.constantFrom(80, 80, 81),
    endpoints: fc.array(fc.tuple(anyEndpoint, fc.nat({ max: 4 })), { maxLength: 6 }),
  })
  .map(({ ports, number, endpoints }) => ({
    ports,
    numbers: ports.map((_, at) => (at === 0 ? number : 80)),
    endpoints: endpoints.map(([endpoint]) => endpoint),
    addresses: endpoints.map(([, address]) => address),
  }));
const maskOf = ({ node }: Endpoint) => (node === 'near' ? 3 : 2);

/** The number of ports for which each endpoint with this address counts. */
function countsOf(groups: readonly EndpointGroup[], address: number) {
  const flat = groups.flatMap(({ ports, endpoints, addresses }) =>
    endpoints.map((endpoint, at) => ({ ports, endpoint, address: addresses[at] })),
  );
  const masks = Uint16Array.from(flat.map(({ endpoint }) => maskOf(endpoint)));
  const counted = countedPorts(groups, masks, {});
  if (counted === 'tooMany') throw new Error('there are few');
  const own = flat.map(({ ports }, at) => (counted === undefined ? ports : counted[at]));
  return own.filter((_, at) => flat[at]?.address === address);
}

test('copies count for the same ports, whatever copies other addresses have', () => {
  fc.assert(
    fc.property(fc.array(anyGroup, { maxLength: 5 }), (groups) => {
      for (let address = 0; address <= 4; address++) {
        const alone = groups.map((group) => {
          const isOwn = (_: unknown, at: number) => group.addresses[at] === address;
          const [endpoints, addresses] = [group.endpoints, group.addresses];
          return {
            ...group,
            endpoints: endpoints.filter(isOwn),
            addresses: addresses.filter(isOwn),
          };
        });
        expect(countsOf(groups, address)).toEqual(countsOf(alone, address));
      }
    }),
    { numRuns: propertyRuns(500) },
  );
});

// Which lists are one object is left to a cache, which tenants of other Namespaces can fill.
test('whether a Service is too large depends neither on its order nor on which lists are one object', () => {
  const sizes = fc.record({
    ports: fc.integer({ min: 1, max: 300 }),
    groups: fc.integer({ min: 1, max: 120 }),
    copies: fc.integer({ min: 1, max: 3 }),
    numbers: fc.boolean(),
  });
  fc.assert(
    fc.property(sizes, ({ ports, groups, copies, numbers }) => {
      const names = Array.from({ length: ports }, (_, port) => `TCP/${port}`);
      const near = { family: 'IPv4', node: 'near', zone: '', terminating: false } as const;
      const shared = Array.from(
        { length: groups },
        (_, slice): EndpointGroup => ({
          ports: names,
          numbers: names.map((_, port) => (numbers ? slice + port : port)),
          endpoints: Array.from({ length: copies }, () => ({ ...near, state: 'ready' })),
          addresses: Array.from({ length: copies }, (_, at) => at),
        }),
      );
      const isTooLarge = (each: readonly EndpointGroup[]) => decide(each, maskOf) === undefined;
      expect(isTooLarge(structuredClone(shared).reverse())).toBe(isTooLarge(shared));
      if (ports * groups > 25_000) expect(isTooLarge(shared)).toBe(true);
    }),
    { numRuns: propertyRuns(30) },
  );
});
