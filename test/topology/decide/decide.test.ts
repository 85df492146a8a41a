import { describe, expect, jest, test } from '@jest/globals';
import { decide } from '../../../src/topology/decide/decide.ts';
import type {
  Endpoint,
  EndpointGroup,
  EndpointState,
} from '../../../src/topology/decide/endpoint.ts';
import { keyMaskBy } from '../../support/topology/key-mask.ts';

/** An endpoint whose node is its distance: `0` is this node, `1` the site, etc. */
function endpoint(node: string, state: EndpointState = 'ready', family = 'IPv4'): Endpoint {
  return { family, node, zone: '', state };
}

/** Key `k<n>` matches nodes up to that distance, `*` matches all. */
function matches(key: string, { node }: Endpoint): boolean {
  return key === '*' || (node !== '' && Number(node) <= Number(key.slice(1)));
}

function kept(groups: readonly EndpointGroup[], keys: readonly string[]): number[] {
  return [...decide(groups, keyMaskBy(keys, matches)).keep];
}

const PORTS = ['TCP/http'];

/** A slice with one port. */
function http(...endpoints: Endpoint[]): EndpointGroup {
  return { ports: PORTS, endpoints };
}

describe('decide()', () => {
  // Regression: each port was searched in the ports of all slices. 100 slices of 100 ports took seconds at each event.
  test('ports that slices do not share are decided one by one, also if a list names a port twice', () => {
    const groups = Array.from({ length: 60 }, (_, slice) => ({
      ports: Array.from({ length: 60 }, (_, port) => `TCP/${slice}-${port % 59}`),
      endpoints: [endpoint('0', slice % 2 === 0 ? 'ready' : 'notReady'), endpoint('2')],
    }));
    const { ports, keep } = decide(groups, keyMaskBy(['k0', '*'], matches), { minReady: [2, 1] });
    expect(ports).toHaveLength(60 * 59);
    expect(new Set(ports.map(({ family, port }) => `${family} ${port}`)).size).toBe(60 * 59);
    // No port has two near ready endpoints: a port that is named twice must not count its endpoint twice.
    expect(ports.every(({ key, stage }) => key === 1 && stage === 'ready')).toBe(true);
    expect([...keep]).toEqual(Array(120).fill(1));
  });

  // Regression: each list of ports was searched among all others. 50,000 groups took 7 s at each event. For the time
  // see bench/huge-service.ts --distinct.
  test('a list of ports is compared with few others, however many there are', () => {
    let compared = 0;
    const { find } = Array.prototype;
    const counting = jest.spyOn(Array.prototype, 'find').mockImplementation(function (
      this: unknown[],
      ...args
    ) {
      compared += this.length;
      return find.apply(this, args);
    });
    const groups = Array.from({ length: 1_000 }, (_, list) => ({
      ports: [`TCP/${list}`],
      endpoints: [endpoint('0')],
    }));
    decide(groups, keyMaskBy(['k0', '*'], matches));
    counting.mockRestore();
    expect(compared).toBeGreaterThan(0);
    expect(compared).toBeLessThan(10 * groups.length);
  });

  test.each<[string, Endpoint[], number[], number]>([
    ['beside those of the winner', [endpoint('0', 'serving'), endpoint('1')], [1, 1], 1],
    ['in place of none', [endpoint('0', 'notReady'), endpoint('3')], [1, 0], 1],
    ['not twice', [endpoint('1'), endpoint('2')], [1, 0], 0],
  ])(
    'endpoints that are also kept are kept %s, and help no key to win',
    (_, endpoints, ...expected) => {
      // Key `far` matches distance 1 only, so not this node.
      const isFar = (_key: string, { node }: Endpoint) => node === '1';
      const alsoKeep = ({ node }: Endpoint) => node === '0';
      const groups = [http(...endpoints)];
      const { keep, added } = decide(groups, keyMaskBy(['far'], isFar), { alsoKeep });
      expect([[...keep], added]).toEqual(expected);
    },
  );

  test.each<[string, EndpointGroup[], string[], number[]]>([
    [
      'the first key with a ready endpoint wins, and keys never merge',
      [http(endpoint('0'), endpoint('1'), endpoint('2'))],
      ['k0', 'k1', '*'],
      [1, 0, 0],
    ],
    [
      'a key whose endpoints are not ready is passed over',
      [http(endpoint('0', 'notReady'), endpoint('1'), endpoint('2'))],
      ['k0', 'k1', '*'],
      [1, 1, 0],
    ],
    [
      'the not ready and terminating endpoints of the winning key are kept too',
      [http(endpoint('0'), endpoint('0', 'notReady'), endpoint('0', 'serving'))],
      ['k0', '*'],
      [1, 1, 1],
    ],
    [
      'without a ready endpoint, the first key with a serving one wins',
      [http(endpoint('0', 'notReady'), endpoint('1', 'serving'), endpoint('2', 'serving'))],
      ['k0', 'k1', '*'],
      [1, 1, 0],
    ],
    [
      'a ready endpoint of a later key beats a serving one of an earlier key',
      [http(endpoint('0', 'serving'), endpoint('2'))],
      ['k0', '*'],
      [1, 1],
    ],
    [
      'without a ready or serving endpoint, all that match any key are kept',
      [http(endpoint('0', 'notReady'), endpoint('2', 'notReady'))],
      ['k0', 'k1'],
      [1, 0],
    ],
    [
      'no key matches: no endpoint is kept, so that traffic fails immediately',
      [http(endpoint('3'), endpoint(''))],
      ['k0', 'k1'],
      [0, 0],
    ],
    [
      'an endpoint without a node matches "*" only',
      [http(endpoint(''), endpoint('3'))],
      ['k0', '*'],
      [1, 1],
    ],
    [
      'slices are decided together: a far one gives way to a near one',
      [http(endpoint('3'), endpoint('3')), http(endpoint('0'))],
      ['k0', '*'],
      [0, 0, 1],
    ],
    [
      'each port is decided alone: a near endpoint without the port cannot serve it',
      [{ ports: ['TCP/metrics'], endpoints: [endpoint('0')] }, http(endpoint('3'))],
      ['k0', '*'],
      [1, 1],
    ],
    [
      'an endpoint is kept if it is chosen for any port of its slice',
      [{ ports: ['TCP/http', 'TCP/metrics'], endpoints: [endpoint('3')] }, http(endpoint('0'))],
      ['k0', '*'],
      [1, 1],
    ],
    [
      'ports with the same name and different protocols are two ports',
      [
        { ports: ['TCP/dns'], endpoints: [endpoint('0')] },
        { ports: ['UDP/dns'], endpoints: [endpoint('3')] },
      ],
      ['k0', '*'],
      [1, 1],
    ],
    [
      'each address family is decided alone',
      [http(endpoint('0')), http(endpoint('3', 'ready', 'IPv6'))],
      ['k0', '*'],
      [1, 1],
    ],
    [
      'a slice without ports is decided too',
      [{ ports: [], endpoints: [endpoint('0'), endpoint('1')] }],
      ['k0', '*'],
      [1, 0],
    ],
    ['no endpoints: nothing to decide', [http()], ['k0'], []],
  ])('%s', (_name, groups, keys, expected) => {
    expect(kept(groups, keys)).toEqual(expected);
  });

  test('the first key with as many ready endpoints as it needs wins; if none has, the first with any', () => {
    const groups = [http(endpoint('0'), endpoint('1'), endpoint('2'))];
    const keep = (...minReady: number[]) => [
      ...decide(groups, keyMaskBy(['k0', 'k1', '*'], matches), { minReady }).keep,
    ];
    expect(keep(2, 2, 1)).toEqual([1, 1, 0]);
    expect(keep(2, 3, 4)).toEqual([1, 0, 0]);
  });

  // Regression: kube-proxy takes ports from the Service, and a decision took them from the slices.
  describe('for the ports of the Service', () => {
    const portless: EndpointGroup = { ports: [], endpoints: [endpoint('0')] };
    const extra: EndpointGroup = { ports: ['TCP/metrics'], endpoints: [endpoint('0')] };
    const decideHttp = (groups: readonly EndpointGroup[], options = {}) =>
      decide(groups, keyMaskBy(['k0', '*'], matches), { ports: ['IPv4 TCP/http'], ...options });

    test.each([
      ['without ports', portless],
      ['with a port that the Service lacks', extra],
      // Regression: the Service has no address to which anybody could connect.
      ['of an address family that the Service lacks', http(endpoint('0', 'ready', 'IPv6'))],
    ])('a slice %s counts for nothing, and nothing of it is shown', (_, group) => {
      const { ports, keep } = decideHttp([group, http(endpoint('3'))]);
      expect(ports).toEqual([{ family: 'IPv4', port: 'TCP/http', key: 1, stage: 'ready' }]);
      expect([...keep]).toEqual([0, 1]);
    });

    test.each([
      [{ minReady: [1, 2] }, [0, 1, 1]],
      [{ alsoKeep: () => true }, [0, 1, 1]],
    ])('it does not count for %p either', (options, expected) => {
      const groups = [portless, http(endpoint('3')), http(endpoint('3'))];
      const { keep, added } = decideHttp(groups, options);
      expect([[...keep], added]).toEqual([expected, 0]);
    });

    test('a port that no endpoint has is a port without a key, once for each family with endpoints', () => {
      const groups = [extra, http(endpoint('0', 'ready', 'IPv6'))];
      const ports = ['IPv4 TCP/http', 'IPv6 TCP/http'];
      expect(decideHttp(groups, { ports }).ports).toEqual([
        { family: 'IPv6', port: 'TCP/http', key: 0, stage: 'ready' },
        { family: 'IPv4', port: 'TCP/http', key: -1, stage: 'none' },
      ]);
      expect(decideHttp([http()], { ports }).ports).toEqual([]);
    });

    test('many ports are told apart too', () => {
      const many = Array.from({ length: 20 }, (_, port) => `TCP/${port}`);
      const groups = [{ ports: many, endpoints: [endpoint('0')] }, extra];
      const ids = many.map((port) => `IPv4 ${port}`);
      const { ports, keep } = decide(groups, keyMaskBy(['k0'], matches), { ports: ids });
      expect(ports.map(({ port }) => port)).toEqual(many);
      expect([...keep]).toEqual([1, 0]);
    });
  });

  describe('with addresses', () => {
    const addresses = ['10.0.0.1', '10.0.0.1', '10.0.0.2'];
    const winnerOf = (groups: readonly EndpointGroup[], more = {}) => {
      const addressOf = (index: number) => addresses[index] ?? '';
      const options = { minReady: [2, 1], addressOf, ...more };
      return decide(groups, keyMaskBy(['k0', '*'], matches), options).ports.map(({ key }) => key);
    };

    test('an endpoint in two slices is one where endpoints are counted', () => {
      const groups = [http(endpoint('0')), http(endpoint('0'), endpoint('3'))];
      expect(winnerOf(groups)).toEqual([1]);
      expect(winnerOf(groups, { addressOf: undefined })).toEqual([0]);
    });

    test('so it is in two slices of which one has more ports', () => {
      const both = {
        ports: ['TCP/http', 'TCP/metrics'],
        endpoints: [endpoint('0'), endpoint('3')],
      };
      expect(winnerOf([http(endpoint('0')), both])).toEqual([1, 1]);
    });

    test('one that is ready in one of them is ready', () => {
      const groups = [http(endpoint('0', 'serving')), http(endpoint('0'), endpoint('0'))];
      expect(winnerOf(groups)).toEqual([0]);
    });

    test('addresses are read only until there are enough, and not without need', () => {
      const read: number[] = [];
      const addressOf = (index: number) => `10.0.0.${read.push(index)}`;
      const near = [endpoint('0'), endpoint('0'), endpoint('0')];
      expect(winnerOf([http(...near), http(...near)], { addressOf })).toEqual([0]);
      expect(read).toEqual([0, 1]);
      const few = [http(endpoint('0')), http(endpoint('3'))];
      expect(winnerOf(few, { addressOf })).toEqual([1]);
      expect(read).toHaveLength(2);
    });

    test('a Service with more ports and endpoints than anybody needs is not compared', () => {
      const many = Array.from({ length: 400_000 }, (_, port) => `IPv4 TCP/${port}`);
      const groups = [http(endpoint('0')), http(endpoint('0'), endpoint('3'))];
      const addressOf = () => {
        throw new Error('compared');
      };
      expect(winnerOf(groups, { ports: ['IPv4 TCP/http', ...many], addressOf })[0]).toBe(0);
    });
  });

  test('returns the key that won for each family and port, and the stage', () => {
    const groups = [
      http(endpoint('1'), endpoint('1', 'serving', 'IPv6')),
      { ports: ['TCP/metrics'], endpoints: [endpoint('3', 'notReady')] },
    ];
    expect(decide(groups, keyMaskBy(['k0', 'k1'], matches)).ports).toEqual([
      { family: 'IPv4', port: 'TCP/http', key: 1, stage: 'ready' },
      { family: 'IPv6', port: 'TCP/http', key: 1, stage: 'serving' },
      { family: 'IPv4', port: 'TCP/metrics', key: -1, stage: 'any' },
    ]);
  });
});
