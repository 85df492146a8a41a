import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { endpointReasons } from '../../../src/diagnosis/explain/endpoint-reasons.ts';
import { explainPorts } from '../../../src/diagnosis/explain/explain-ports.ts';
import type {
  Endpoint,
  EndpointGroup,
  EndpointState,
} from '../../../src/topology/decide/endpoint.ts';
import type { ManagedPolicy } from '../../../src/topology/policy/policy.ts';
import { decided } from '../../support/topology/decided.ts';
import { groupOf } from '../../support/topology/endpoint-group.ts';
import { keyMaskBy } from '../../support/topology/key-mask.ts';

const KEYS = ['a', 'b', '*'];
const matches = (key: string, { node }: Endpoint): boolean => key === '*' || node.includes(key);

const endpoint: fc.Arbitrary<Endpoint> = fc.record({
  family: fc.constantFrom('IPv4', 'IPv6'),
  node: fc.constantFrom('a', 'b', 'ab', 'c', ''),
  zone: fc.constant(''),
  state: fc.constantFrom<EndpointState>('ready', 'serving', 'notReady'),
  terminating: fc.constant(false),
});
const groups: fc.Arbitrary<EndpointGroup[]> = fc.array(
  fc
    .tuple(
      fc.subarray(['TCP/http', 'TCP/metrics', 'UDP/dns']),
      fc.array(endpoint, { maxLength: 5 }),
    )
    .map(([ports, endpoints]) => groupOf(ports, endpoints)),
  { maxLength: 5 },
);

function policyOf(minReady: readonly number[]): ManagedPolicy {
  return { managed: true, keys: KEYS, source: 'annotation', minReady };
}

const policies = fc.tuple(...KEYS.map(() => fc.integer({ min: 1, max: 3 }))).map(policyOf);

function has({ ports }: EndpointGroup, port: string): boolean {
  return ports.length === 0 ? port === '' : ports.includes(port);
}

/** The decision about each endpoint and its reason, in the order of the groups, flattened. */
function decideWithReasons(given: readonly EndpointGroup[], keys = KEYS) {
  const decision = decided(given, keyMaskBy(keys, matches));
  const reasonOf = endpointReasons(decision, keys);
  let index = 0;
  return given.flatMap(({ ports, endpoints }) =>
    endpoints.map((each) => ({
      kept: decision.keep[index] === 1,
      reason: reasonOf(ports, each, index++),
    })),
  );
}

function on(node: string, state: EndpointState = 'ready'): Endpoint {
  return { family: 'IPv4', node, zone: '', state, terminating: false };
}

describe('an explanation that visits each endpoint once', () => {
  test('has the same counts for each port as counting its endpoints one by one', () => {
    fc.assert(
      fc.property(groups, policies, (given, policy) => {
        const { minReady } = policy;
        const decision = decided(given, keyMaskBy(KEYS, matches), { minReady });
        const ports = explainPorts({ policy, decision }, 100);
        const all = decision.ports;
        expect(ports.map(({ family, port }) => `${family} ${port}`)).toEqual(
          all.map(({ family, port }) => `${family} ${port}`),
        );
        for (const { family, port, keys, winner, next } of ports) {
          const own = given
            .filter((group) => has(group, port))
            .map(({ endpoints }) => ({
              ports: [port],
              endpoints: endpoints.filter((each) => each.family === family),
            }));
          const counted = KEYS.map((key) => {
            const matching = own.flatMap(({ endpoints }) =>
              endpoints.filter((each) => matches(key, each)),
            );
            const count = (state: string) => matching.filter((each) => each.state === state).length;
            return {
              key,
              ready: count('ready'),
              serving: count('serving'),
              total: matching.length,
            };
          });
          expect(keys).toMatchObject(counted);
          if (winner === undefined) continue;
          const left = own.map(({ ports: all, endpoints }) =>
            groupOf(
              all,
              endpoints.filter((each) => !matches(winner, each)),
            ),
          );
          const without = decided(left, keyMaskBy(KEYS, matches), { minReady }).ports[0];
          expect(next).toBe(KEYS[without?.key ?? -1]);
        }
      }),
    );
  });

  test('gives each endpoint the reason of the first port that keeps it, else of the first port', () => {
    fc.assert(
      fc.property(groups, (given) => {
        const { ports, keep } = decided(given, keyMaskBy(KEYS, matches));
        const reasons = decideWithReasons(given);
        const flat = given.flatMap((group) => group.endpoints.map((each) => ({ group, each })));
        expect(reasons.map(({ kept }) => Number(kept))).toEqual([...keep]);
        for (const [index, { group, each }] of flat.entries()) {
          const own = ports.filter(
            ({ family, port }) => family === each.family && has(group, port),
          );
          const matching = KEYS.flatMap((key, at) => (matches(key, each) ? [at] : []));
          const kept = keep[index] === 1;
          const keeps = own.find(({ key }) => matching.includes(key) || (kept && key < 0));
          const { key = -1, stage } = keeps ?? own[0] ?? {};
          const { reason } = reasons[index] as (typeof reasons)[number];
          if (matching.length > 0 && key >= 0) expect(reason).toContain(`${KEYS[key]} `);
          if (kept && key >= 0)
            expect(reason).toBe(`${KEYS[key]} matches, and has ${stage} endpoints`);
        }
      }),
    );
  });

  test('with too many ports, lists those with problems first, up to the limit', () => {
    const given = [
      groupOf(['TCP/1', 'TCP/2', 'TCP/3'], [on('a')]),
      groupOf(['TCP/bad'], [on('a', 'serving')]),
    ];
    const policy = policyOf([1, 1, 1]);
    const decision = decided(given, keyMaskBy(KEYS, matches), policy);
    const ports = explainPorts({ policy, decision }, 2);
    expect(ports.map(({ port }) => port)).toEqual(['TCP/bad', 'TCP/1']);
  });

  test.each<[string, EndpointGroup[], string[], string[]]>([
    [
      'of a port that keeps it',
      [
        groupOf(['TCP/http'], [on('a')]),
        groupOf(['TCP/http', 'TCP/metrics'], [on('b', 'notReady')]),
      ],
      ['a', 'b'],
      [
        'kept: a matches, and has ready endpoints',
        'kept: b matches; no endpoint is ready or serving',
      ],
    ],
    [
      'that only terminating endpoints are left',
      [groupOf([], [on('a', 'serving'), on('c', 'notReady')])],
      ['a', '*'],
      ['kept: a matches, and has serving endpoints', 'cut: * matches, but a has serving endpoints'],
    ],
    [
      'that no endpoint is usable',
      [groupOf([], [on('c', 'notReady')])],
      ['a', '*'],
      ['kept: * matches; no endpoint is ready or serving'],
    ],
  ])('gives the reason %s', (_, given, keys, expected) => {
    const reasons = decideWithReasons(given, keys);
    expect(reasons.map(({ kept, reason }) => `${kept ? 'kept' : 'cut'}: ${reason}`)).toEqual(
      expected,
    );
  });
});
