import { describe, expect, jest, test } from '@jest/globals';
import { decide } from '../../../src/topology/decide/decide.ts';
import type {
  Endpoint,
  EndpointGroup,
  EndpointState,
} from '../../../src/topology/decide/endpoint.ts';
import { groupOf } from '../../support/topology/endpoint-group.ts';
import { keyMaskBy } from '../../support/topology/key-mask.ts';

/** An endpoint whose node is its distance: `0` is this node, `1` the site, etc. */
function endpoint(node: string, state: EndpointState = 'ready', family = 'IPv4'): Endpoint {
  return { family, node, zone: '', state, terminating: state === 'serving' };
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
  return groupOf(PORTS, endpoints);
}

describe('decide()', () => {
  // Regression: each port was searched in the ports of all slices. 100 slices of 100 ports took seconds at each event.
  test('ports that slices do not share are decided one by one, also if a list names a port twice', () => {
    const groups = Array.from({ length: 60 }, (_, slice) =>
      groupOf(
        Array.from({ length: 60 }, (_, port) => `TCP/${slice}-${port % 59}`),
        [endpoint('0', slice % 2 === 0 ? 'ready' : 'notReady'), endpoint('2')],
      ),
    );
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
    const groups = Array.from({ length: 1_000 }, (_, list) =>
      groupOf([`TCP/${list}`], [endpoint('0')]),
    );
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
      [groupOf(['TCP/metrics'], [endpoint('0')]), http(endpoint('3'))],
      ['k0', '*'],
      [1, 1],
    ],
    [
      'an endpoint is kept if it is chosen for any port of its slice',
      [groupOf(['TCP/http', 'TCP/metrics'], [endpoint('3')]), http(endpoint('0'))],
      ['k0', '*'],
      [1, 1],
    ],
    [
      'ports with the same name and different protocols are two ports',
      [groupOf(['TCP/dns'], [endpoint('0')]), groupOf(['UDP/dns'], [endpoint('3')])],
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
      [groupOf([], [endpoint('0'), endpoint('1')])],
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
    const portless: EndpointGroup = groupOf([], [endpoint('0')]);
    const extra: EndpointGroup = groupOf(['TCP/metrics'], [endpoint('0')]);
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
      const groups = [groupOf(many, [endpoint('0')]), extra];
      const ids = many.map((port) => `IPv4 ${port}`);
      const { ports, keep } = decide(groups, keyMaskBy(['k0'], matches), { ports: ids });
      expect(ports.map(({ port }) => port)).toEqual(many);
      expect([...keep]).toEqual([1, 0]);
    });
  });

  describe('where endpoints share an address', () => {
    const keys = keyMaskBy(['k0', '*'], matches);
    const winnerOf = (groups: readonly EndpointGroup[], more = {}) =>
      decide(groups, keys, { minReady: [2, 1], ...more }).ports.map(({ key }) => key);
    const keptOf = (groups: readonly EndpointGroup[], more = {}) => [
      ...decide(groups, keys, more).keep,
    ];
    const [near, far] = [endpoint('0'), endpoint('3')];
    const notReady = endpoint('0', 'notReady');
    const ended: Endpoint = { ...notReady, terminating: true };

    test.each([
      ['two slices', [groupOf(PORTS, [near], [1]), groupOf(PORTS, [near, far], [1, 2])]],
      ['one slice', [groupOf(PORTS, [near, near, far], [1, 1, 2])]],
      [
        'two slices, of which one has more ports',
        [groupOf(PORTS, [near], [1]), groupOf(['TCP/http', 'TCP/more'], [near, far], [1, 2])],
      ],
    ])('one in %s counts once', (_, groups) => {
      expect(new Set(winnerOf(groups))).toEqual(new Set([1]));
    });

    test('two with different port numbers are two', () => {
      const other = { ...groupOf(PORTS, [near], [1]), numbers: [9090] };
      const groups = [groupOf(PORTS, [near], [1]), other];
      expect([winnerOf(groups), keptOf(groups)]).toEqual([[0], [1, 1]]);
      const { total } = decide(groups, keys, { minReady: [2, 1] }).classes[0]?.counts ?? {};
      expect([...(total ?? [])]).toEqual([2, 2]);
    });

    test.each<[string, Endpoint[], number[]]>([
      [
        'one that does not terminate before one that does',
        [endpoint('0', 'serving'), notReady],
        [0, 1],
      ],
      ['a ready one before one that is not', [notReady, near], [0, 1]],
      ['of those that terminate, a serving one', [ended, endpoint('0', 'serving')], [0, 1]],
      ['one that a nearer key matches', [far, near], [0, 1]],
      ['else the first', [near, near], [1, 0]],
    ])('only one is shown: %s', (_, endpoints, expected) => {
      expect(keptOf([groupOf(PORTS, endpoints, [1, 1])])).toEqual(expected);
      const apart = endpoints.map((each) => groupOf(PORTS, [each], [1]));
      expect(keptOf(apart)).toEqual(expected);
    });

    // Seen: it counted as serving, so the endpoint that does serve was cut, and the kernel refused.
    test('one that kube-proxy ignores helps no key to win', () => {
      const ghost = groupOf(PORTS, [endpoint('0', 'serving'), notReady], [1, 1]);
      const { ports } = decide([ghost, http(endpoint('3', 'serving'))], keys);
      expect(ports).toMatchObject([{ key: 1, stage: 'serving' }]);
    });

    test('where local endpoints are kept, the local one counts', () => {
      const alsoKeep = ({ node }: Endpoint) => node === '3';
      expect(keptOf([groupOf(PORTS, [near, far], [1, 1])], { alsoKeep })).toEqual([0, 1]);
    });

    test('one counts for the ports that no better one has, unless kube-proxy could mix them up', () => {
      const both = ['TCP/http', 'TCP/metrics'];
      const better = groupOf(PORTS, [near], [1]);
      // kube-proxy prefers the other one by itself.
      expect(keptOf([better, groupOf(both, [endpoint('0', 'serving')], [1])])).toEqual([1, 1]);
      // It would take either. One that is not ready is of no use for any port.
      expect(keptOf([better, groupOf(both, [notReady], [1])])).toEqual([1, 0]);
      // Of equal ones, that with more ports is enough.
      expect(keptOf([better, groupOf(both, [near], [1])])).toEqual([0, 1]);
    });

    // Found by the property about kube-proxy's cache.
    test('none counts in place of one that is cut because of another port', () => {
      const both = ['TCP/http', 'TCP/metrics'];
      const groups = [
        groupOf(PORTS, [near], [1]),
        groupOf(both, [notReady, endpoint('0', 'serving')], [1, 1]),
      ];
      expect(keptOf(groups)).toEqual([1, 0, 0]);
    });

    test('ports that the Service lacks do not matter', () => {
      const ports = ['IPv4 TCP/http'];
      const other = groupOf(['TCP/metrics'], [near], [1]);
      expect(keptOf([other, groupOf(PORTS, [far], [1])], { ports })).toEqual([0, 1]);
      const more = groupOf(['TCP/http', 'TCP/metrics'], [near], [1]);
      expect(keptOf([groupOf(PORTS, [near], [1]), more], { ports })).toEqual([1, 0]);
    });

    test('many are told apart too', () => {
      const many = Array.from({ length: 40 }, (_, index) => index % 20);
      const keep = keptOf([
        groupOf(
          PORTS,
          many.map(() => near),
          many,
        ),
      ]);
      expect(keep).toEqual([...Array(20).fill(1), ...Array(20).fill(0)]);
    });

    // Only a Service that is made to keep nodes busy has so many.
    test('a Service with more ports and endpoints than anybody needs is not compared', () => {
      const many = Array.from({ length: 300_000 }, (_, port) => `TCP/${port}`);
      const groups = [groupOf(many, [near, near, near, near], [1, 1, 1, 1])];
      expect(decide(groups, keys).counted).toBeUndefined();
    });
  });

  test('returns the key that won for each family and port, and the stage', () => {
    const groups = [
      http(endpoint('1'), endpoint('1', 'serving', 'IPv6')),
      groupOf(['TCP/metrics'], [endpoint('3', 'notReady')]),
    ];
    expect(decide(groups, keyMaskBy(['k0', 'k1'], matches)).ports).toEqual([
      { family: 'IPv4', port: 'TCP/http', key: 1, stage: 'ready' },
      { family: 'IPv6', port: 'TCP/http', key: 1, stage: 'serving' },
      { family: 'IPv4', port: 'TCP/metrics', key: -1, stage: 'any' },
    ]);
  });
});
