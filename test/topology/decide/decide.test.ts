import { describe, expect, jest, test } from '@jest/globals';
import { decide } from '../../../src/topology/decide/decide.ts';
import type {
  Endpoint,
  EndpointGroup,
  EndpointState,
} from '../../../src/topology/decide/endpoint.ts';
import { decided } from '../../support/topology/decided.ts';
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
  return [...decided(groups, keyMaskBy(keys, matches)).keep];
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
    const { ports, keep } = decided(groups, keyMaskBy(['k0', '*'], matches), { minReady: [2, 1] });
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
    decided(groups, keyMaskBy(['k0', '*'], matches));
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
      const { keep, added } = decided(groups, keyMaskBy(['far'], isFar), { alsoKeep });
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
      ...decided(groups, keyMaskBy(['k0', 'k1', '*'], matches), { minReady }).keep,
    ];
    expect(keep(2, 2, 1)).toEqual([1, 1, 0]);
    expect(keep(2, 3, 4)).toEqual([1, 0, 0]);
  });

  // Regression: kube-proxy takes ports from the Service, and a decision took them from the slices.
  describe('for the ports of the Service', () => {
    const portless: EndpointGroup = groupOf([], [endpoint('0')]);
    const extra: EndpointGroup = groupOf(['TCP/metrics'], [endpoint('0')]);
    const decideHttp = (groups: readonly EndpointGroup[], options = {}) =>
      decided(groups, keyMaskBy(['k0', '*'], matches), { ports: ['IPv4 TCP/http'], ...options });

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
      const { ports, keep } = decided(groups, keyMaskBy(['k0'], matches), { ports: ids });
      expect(ports.map(({ port }) => port)).toEqual(many);
      expect([...keep]).toEqual([1, 0]);
    });
  });

  describe('where endpoints share an address', () => {
    const keys = keyMaskBy(['k0', '*'], matches);
    const winnerOf = (groups: readonly EndpointGroup[], more = {}) =>
      decided(groups, keys, { minReady: [2, 1], ...more }).ports.map(({ key }) => key);
    const keptOf = (groups: readonly EndpointGroup[], more = {}) => [
      ...decided(groups, keys, more).keep,
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
      const { total } = decided(groups, keys, { minReady: [2, 1] }).classes[0]?.counts ?? {};
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
      const { ports } = decided([ghost, http(endpoint('3', 'serving'))], keys);
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
      // Each address is compared by itself.
      const worse = [notReady, endpoint('0', 'serving')];
      const two = [groupOf(PORTS, [near, near], [1, 2]), groupOf(both, worse, [1, 2])];
      expect(keptOf(two)).toEqual([1, 1, 0, 1]);
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

    // Each port was searched in the list of those that count: 5,000 ports in 200 slices took 4 s at each event.
    test('the ports for which one counts are found in one pass', () => {
      const names = Array.from({ length: 1_000 }, (_, port) => `TCP/${port}`);
      const first = groupOf(names, [near], [1]);
      const numbers = names.map((_, port) => (port < 500 ? 8080 : port));
      let searched = 0;
      const { includes } = Array.prototype;
      const counting = jest.spyOn(Array.prototype, 'includes').mockImplementation(function (
        this: unknown[],
        ...args
      ) {
        searched += this.length;
        return includes.apply(this, args);
      });
      const { counted } = decided([first, { ...first, numbers }], keys);
      counting.mockRestore();
      expect(counted?.map((own) => own?.length)).toEqual([1_000, 500]);
      expect(searched).toBeLessThan(10 * names.length);
    });
  });

  // A tenant held each node up for seconds at each event of such a Service.
  describe('a Service is too large to decide', () => {
    const names = (count: number, first = 0) =>
      Array.from({ length: count }, (_, port) => `TCP/${first + port}`);
    const slices = (count: number, make: (slice: number) => EndpointGroup) =>
      Array.from({ length: count }, (_, slice) => make(slice));
    const [near, far] = [endpoint('0'), endpoint('3')];
    const many = (count: number) => Array.from({ length: count }, () => near);
    /** One address in slices whose ports differ in half of their numbers. */
    const mixed = (count: number, ports: number) =>
      slices(count, (slice) => ({
        ...groupOf(names(ports), [near], [1]),
        numbers: names(ports).map((_, port) => (port % 2 === 0 ? port : port + slice)),
      }));
    /** Two slices have the same 1,000 addresses. */
    const twice = (count: number) =>
      slices(count, (slice) =>
        groupOf(
          PORTS,
          many(1_000),
          many(1_000).map((_, at) => 1_000 * (slice >> 1) + at),
        ),
      );
    /** All of 10,000 endpoints in two slices each, of which one has a port more: a port is being added. */
    const moving = (ports: number) =>
      slices(200, (slice) => {
        const addresses = many(100).map((_, at) =>
          slice < 100 ? 100 * slice + at : 100 * at + slice - 100,
        );
        const endpoints = addresses.map((address) => (address % 2 === 0 ? near : far));
        return groupOf(names(slice < 100 ? ports : ports + 1), endpoints, addresses);
      });
    const options = (ports: number) => ({ ports: names(ports).map((port) => `IPv4 ${port}`) });

    test.each<[string, EndpointGroup[], EndpointGroup[], { ports?: string[] }]>([
      [
        'by the ports of its slices',
        slices(100, () => groupOf(names(250), [near])),
        slices(101, () => groupOf(names(250), [near])),
        {},
      ],
      [
        'by its own ports and those of its slices',
        [groupOf(names(15_000), [near])],
        [groupOf(names(15_001), [near])],
        options(10_000),
      ],
      [
        'by its endpoints',
        slices(100, () => groupOf(PORTS, many(1_000))),
        slices(101, () => groupOf(PORTS, many(1_000))),
        {},
      ],
      ['by its copies', twice(24), twice(26), {}],
      [
        'by the ports of its copies',
        [...mixed(10, 2_000), groupOf(names(2_000), many(2), [1, 2])],
        mixed(10, 2_000).map((group) => ({
          ...group,
          endpoints: [near, near],
          addresses: [1, 1],
        })),
        {},
      ],
    ])('%s', (_, largest, tooLarge, more) => {
      const keys = keyMaskBy(['k0', '*'], matches);
      expect(decide(largest, keys, more)?.keep).toContain(1);
      expect(decide(tooLarge, keys, more)).toBeUndefined();
    });

    test('and an ordinary one is not while its endpoints move to slices with one more port', () => {
      const { ports, keep } = decided(moving(10), keyMaskBy(['k0', '*'], matches));
      expect(ports.map(({ key, stage }) => `${key} ${stage}`)).toEqual(Array(11).fill('0 ready'));
      // One of two copies of the near half.
      expect(keep.reduce((sum, one) => sum + one, 0)).toBe(5_000);
    });
  });

  test('returns the key that won for each family and port, and the stage', () => {
    const groups = [
      http(endpoint('1'), endpoint('1', 'serving', 'IPv6')),
      groupOf(['TCP/metrics'], [endpoint('3', 'notReady')]),
    ];
    expect(decided(groups, keyMaskBy(['k0', 'k1'], matches)).ports).toEqual([
      { family: 'IPv4', port: 'TCP/http', key: 1, stage: 'ready' },
      { family: 'IPv6', port: 'TCP/http', key: 1, stage: 'serving' },
      { family: 'IPv4', port: 'TCP/metrics', key: -1, stage: 'any' },
    ]);
  });
});
