import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { FullGroup } from '../../../src/filter/objects/endpoint-groups.ts';
import { type RelayEndpoints, selectRelays } from '../../../src/node/relays/select-relays.ts';
import type { EndpointState } from '../../../src/topology/decide/endpoint.ts';
import type { Policy } from '../../../src/topology/policy/policy.ts';
import { Topology } from '../../../src/topology/state/topology.ts';
import { addressText } from '../../../src/util/address.ts';
import { propertyRuns } from '../../support/property-runs.ts';
import { PLAIN_TOPOLOGY } from '../../support/topology/plain-topology.ts';

interface Relay {
  readonly ip: string;
  readonly node: string;
  readonly state: EndpointState;
}

function topologyOf(keys: readonly string[] | undefined, nodeName = 'n1'): Topology {
  const topology = new Topology({ ...PLAIN_TOPOLOGY, nodeName });
  topology.setOwnNode({ labels: new Map(), annotations: new Map() });
  const policy: Policy | undefined = keys && { managed: true, keys, source: 'annotation' };
  topology.setPolicies(new Map([['ns/relay', policy]]));
  topology.setSynced('services');
  return topology;
}

/** One slice for each family, as the EndpointSlice controller makes them. */
function endpointsOf(relays: readonly Relay[], ports = [{ key: 'TCP/https', number: 10_364 }]) {
  const full: FullGroup[] = ['IPv4', 'IPv6'].map((family) => ({
    ports,
    endpoints: relays
      .filter(({ ip }) => ip.includes(':') === (family === 'IPv6'))
      .map(({ ip, node, state }) => ({
        family,
        node,
        zone: '',
        state,
        terminating: state === 'serving',
        addresses: [ip],
        targetRef: undefined,
        hinted: false,
        publishedNotReady: false,
      })),
  })) as never;
  const indexes = new Map(relays.map(({ ip }, index) => [ip, index]));
  const groups = full.map(({ endpoints }) => ({
    ports: ports.map(({ key }) => key),
    numbers: ports.map(({ number }) => number),
    endpoints,
    addresses: endpoints.map(({ addresses: [ip = ''] }) => indexes.get(ip) ?? -1),
  }));
  return { service: 'ns/relay', groups, full } satisfies RelayEndpoints;
}

const relay = fc.record({
  ip: fc.oneof(
    fc.nat(255).map((n) => `10.0.0.${n}`),
    fc.nat(255).map((n) => `fd00::${n.toString(16)}`),
  ),
  node: fc.constantFrom('n1', 'n2', 'n3'),
  state: fc.constantFrom<EndpointState>('ready', 'serving', 'notReady'),
});
const relays = fc.uniqueArray(relay, { selector: ({ ip }) => ip, maxLength: 40 });

const addresses = (topology: Topology, endpoints: RelayEndpoints): string[] =>
  selectRelays(topology, endpoints)?.addresses.map(addressText) ?? ['unknown'];
const ipOf = (address: string) => address.replace(/:10364$/, '').replace(/[[\]]/g, '');

test('the relays are those that the policy selects, the ready ones first, in an order of this node', () => {
  const local = topologyOf(['kubernetes.io/hostname']);
  const all = topologyOf(['kubernetes.io/hostname', '*']);
  const any = topologyOf(['*']);
  fc.assert(
    fc.property(relays, fc.nat(39), (given, gone) => {
      const byIp = new Map(given.map((each) => [each.ip, each]));
      const found = addresses(local, endpointsOf(given)).map(ipOf);
      expect(found.every((ip) => byIp.get(ip)?.node === 'n1')).toBe(true);
      // What no key matches is used only if nothing else is ready.
      const isOwn = given.some(({ node, state }) => node === 'n1' && state === 'ready');
      const fallback = addresses(all, endpointsOf(given)).map(ipOf);
      if (isOwn && given.every(({ ip }) => !ip.includes(':'))) expect(fallback).toEqual(found);
      // Whatever the order of the API server is.
      const order = addresses(any, endpointsOf(given)).map(ipOf);
      expect(order.length).toBe(Math.min(16, given.length));
      expect(addresses(any, endpointsOf(given.toReversed())).map(ipOf)).toEqual(order);
      const ranks = order.map((ip) =>
        ['ready', 'serving', 'notReady'].indexOf(byIp.get(ip)?.state ?? ''),
      );
      expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
      // One that goes changes the order of no others.
      const rest = given.filter((_, index) => index !== gone);
      const left = new Set(addresses(any, endpointsOf(rest)).map(ipOf));
      expect(order.filter((ip) => left.has(ip))).toEqual(
        [...left].filter((ip) => order.includes(ip)),
      );
    }),
    { numRuns: propertyRuns(500) },
  );
});

test('two relays share the nodes of a site', () => {
  const two = ['10.0.0.1', '10.0.0.2'].map((ip) => ({ ip, node: 'n1', state: 'ready' as const }));
  const first = Array.from(
    { length: 50 },
    (_, n) => addresses(topologyOf(['*'], `edge-${n}`), endpointsOf(two))[0],
  );
  const share = first.filter((address) => address === '10.0.0.1:10364').length / 50;
  expect(share).toBeGreaterThan(0.35);
  expect(share).toBeLessThan(0.65);
});

describe('the port of a relay', () => {
  const one = endpointsOf.bind(undefined, [{ ip: '10.0.0.1', node: 'n1', state: 'ready' }]);
  test.each([
    [
      'is the one with the name https',
      [
        { key: 'TCP/metrics', number: 1 },
        { key: 'TCP/https', number: 2 },
      ],
      ['10.0.0.1:2'],
    ],
    ['is the only one', [{ key: 'TCP/', number: 3 }], ['10.0.0.1:3']],
    [
      'is not known if none of several has the name',
      [
        { key: 'TCP/a', number: 1 },
        { key: 'TCP/b', number: 2 },
      ],
      [],
    ],
    ['is not known if it has no number', [{ key: 'TCP/https', number: 0 }], []],
  ])('%s', (_, ports, expected) => {
    expect(addresses(topologyOf(['*']), one(ports))).toEqual(expected);
  });
});

test('of a Service that is too large there are none, and the cause is named', () => {
  const many = Array.from({ length: 100_001 }, (_, n) => ({
    ip: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`,
    node: 'n1',
    state: 'ready' as const,
  }));
  expect(selectRelays(topologyOf(['*']), endpointsOf(many))).toEqual({
    addresses: [],
    problem: 'the Service ns/relay has no policy that selects relays (service-too-large)',
  });
});

test('without a policy, or while this node is not known, there is nothing to select from', () => {
  const one = endpointsOf([{ ip: '10.0.0.1', node: 'n1', state: 'ready' }]);
  expect(selectRelays(topologyOf(undefined), one)).toEqual({
    addresses: [],
    problem: 'there is no Service ns/relay, or kube-proxy does not read it',
  });
  expect(selectRelays(new Topology({ ...PLAIN_TOPOLOGY, nodeName: 'n1' }), one)).toBeUndefined();
});
