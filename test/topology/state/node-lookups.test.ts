import { beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type FoundNodes,
  NodeLookups,
  type NodeRequest,
} from '../../../src/topology/state/node-lookups.ts';
import { ManualClock } from '../../support/clocks.ts';

const HOUR_MS = 3_600_000;
let clock: ManualClock;
let lookups: NodeLookups;
let zone: string | undefined;
/** The requests so far, oldest first, and how to answer the last one. */
let requests: NodeRequest[];
let answer: (found: FoundNodes) => void;
/** Nodes whose Services were decided again. */
let decided: string[];
/** Names that Services need, with their Namespace: deciding again requests these. */
let needed: Map<string, string>;

beforeEach(() => {
  clock = new ManualClock();
  zone = 'z1';
  requests = [];
  decided = [];
  needed = new Map();
  lookups = new NodeLookups({
    finder: {
      clock,
      find: (request, done) => {
        requests.push(request);
        answer = done;
      },
      onTooMany: () => undefined,
    },
    ownZone: () => zone,
    version: () => '7',
    onNodes: (nodes) => {
      decided.push(...nodes);
      for (const node of nodes) if (needed.has(node)) lookups.request(node, needed.get(node) ?? '');
    },
    random: () => 0,
  });
});

/** A Service needs these, until `needed` lacks them. */
function need(names: readonly string[], namespace = 'default'): boolean[] {
  for (const name of names) needed.set(name, namespace);
  const room = names.map((name) => lookups.request(name, namespace));
  clock.pass(0);
  return room;
}

function found(zones: Record<string, string> = {}): void {
  answer({ zones: new Map(Object.entries(zones)) });
  clock.pass(0);
}

const VIEW = {};
const isWaiting = () => lookups.mustWait(VIEW);

const names = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${prefix}-${n}`);

describe('a Node that the field puts into our zone', () => {
  test('is elsewhere once its label says so, and until then where the field says', () => {
    need(['a']);
    expect(requests).toEqual([{ names: ['a'], hostnames: [], version: '7' }]);
    expect([lookups.isElsewhere('a'), isWaiting()]).toEqual([false, true]);
    found({ a: 'z2' });
    expect([lookups.isElsewhere('a'), isWaiting(), decided]).toEqual([true, false, ['a']]);
  });

  test.each<[string, Record<string, string>, boolean]>([
    ['has no zone', { a: '' }, true],
    ['does not exist', {}, false],
    ['has our zone, but the node set does not have it yet', { a: 'z1' }, false],
  ])('that %s', (_, zones, isElsewhere) => {
    need(['a']);
    found(zones);
    expect([lookups.isElsewhere('a'), lookups.problemOf('a')]).toEqual([isElsewhere, undefined]);
  });

  test('is looked up anew after it entered or left the node set, whatever is under way', () => {
    need(['a']);
    lookups.forget(['a']);
    need(['a']);
    found({ a: 'z2' });
    expect(lookups.isElsewhere('a')).toBe(false);
    expect(requests).toHaveLength(2);
    found({ a: 'z3' });
    expect(lookups.zoneOf('a')).toBe('z3');
  });

  test('is looked up anew when this node moves to the zone in which it was found', () => {
    need(['a']);
    found({ a: 'z2' });
    zone = 'z2';
    need(['a']);
    clock.pass(0);
    expect([requests.length, lookups.isElsewhere('a')]).toEqual([2, false]);
    found({ a: '' });
    expect(lookups.isElsewhere('a')).toBe(true);
  });
});

describe('a Node is looked up again', () => {
  const isAskedAfter = (ms: number): boolean => {
    const before = requests.length;
    clock.pass(ms - 1);
    if (requests.length > before) throw new Error('it was looked up too soon');
    clock.pass(1);
    return requests.length > before;
  };

  test('after 1 s, 2 s, and so on up to an hour', () => {
    need(['a']);
    for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 3_600, 3_600]) {
      found();
      expect(isAskedAfter(seconds * 1_000)).toBe(true);
    }
    found({ a: '' });
    expect(lookups.isElsewhere('a')).toBe(true);
  });

  test('only while a Service needs it', () => {
    need(['a']);
    found({ a: 'z2' });
    needed.clear();
    for (const seconds of [1, 2]) {
      clock.pass(1_000 * seconds);
      found({ a: 'z2' });
    }
    clock.pass(HOUR_MS);
    expect([requests.length, lookups.zoneOf('a'), clock.waiting]).toEqual([3, undefined, 0]);
    need(['a']);
    expect(requests).toHaveLength(4);
  });

  // Relays are selected a second later. On a node that is switched off no view needs it: it was dropped with each
  // answer, looked up anew, and its relay was used and left again and again.
  test('as long as somebody needs it between two answers', () => {
    need(['a']);
    found({ a: 'z2' });
    needed.clear();
    for (const seconds of [1, 2, 4, 8, 16]) {
      clock.pass(1_000 * seconds);
      found({ a: 'z2' });
      expect(lookups.isElsewhere('a')).toBe(true);
      lookups.request('a', 'default');
    }
    expect(requests).toHaveLength(6);
  });

  // After an outage of minutes, an endpoint of another zone was kept for half a minute.
  test('within a second after an outage, however long that was, and then as fast as before', () => {
    need(['a']);
    const error = 'the API server does not answer';
    for (let n = 0; n < 100; n++) {
      answer({ error, isUnasked: true });
      const before = requests.length;
      clock.pass(1_000);
      expect(requests).toHaveLength(before + 1);
    }
    found({ a: 'z2' });
    expect(lookups.isElsewhere('a')).toBe(true);
    const before = requests.length;
    for (const node of names('n', 7)) {
      need([node]);
      found({ [node]: 'z2' });
    }
    expect(requests).toHaveLength(before + 7);
  });

  test('not after close(), and an answer has no effect then', () => {
    need(['a']);
    lookups.close();
    found({ a: 'z2' });
    clock.pass(HOUR_MS);
    expect([requests.length, decided, clock.waiting]).toEqual([1, [], 0]);
  });
});

describe('many Nodes', () => {
  // For each of 96,000 names of one Service that had no room, all Namespaces were counted.
  test('of one Service are not added once one of them has no room', () => {
    need(['a']);
    expect(lookups.request('b', 'other', false)).toBe(false);
    expect(['a', 'No Node'].map((node) => lookups.request(node, 'other', false))).toEqual([
      true,
      false,
    ]);
    expect(lookups.request('b', 'other')).toBe(true);
  });

  test('are looked up together by hostname, and by name only those that are not found so', () => {
    const many = names('n', 6);
    need(many);
    expect(requests[0]).toMatchObject({ names: [], hostnames: many });
    found(Object.fromEntries(many.slice(0, 5).map((node) => [node, 'z2'])));
    expect(requests[1]).toMatchObject({ names: ['n-5'], hostnames: [] });
    found({ 'n-5': 'z3' });
    expect(many.every((node) => lookups.isElsewhere(node))).toBe(true);
  });

  test('that do not have their name as hostname exist until they are not found by name', () => {
    need(['a']);
    found({ a: 'z2' });
    clock.pass(999);
    need(names('n', 5));
    expect(requests.at(-1)?.hostnames).toContain('a');
    found();
    found();
    expect([requests.at(-1)?.names, lookups.isElsewhere('a')]).toEqual([['n-4', 'a'], true]);
    found();
    expect(lookups.isElsewhere('a')).toBe(false);
  });

  test('that have no hostname label remain elsewhere, and are looked up by name after 100 hours', () => {
    const many = names('n', 6);
    need(many);
    found();
    const exist = Object.fromEntries(many.map((node) => [node, 'z2']));
    for (let n = 0; n < 2; n++) found(exist);
    expect(many.every((node) => lookups.isElsewhere(node))).toBe(true);
    const before = requests.length;
    clock.pass(100 * HOUR_MS - 1);
    expect(requests).toHaveLength(before);
    clock.pass(1);
    expect(requests.at(-1)).toMatchObject({ names: many.slice(0, 4), hostnames: [] });
    found();
    expect(lookups.isElsewhere('n-0')).toBe(false);
  });

  test('of two Namespaces take turns', () => {
    need(['busy']);
    need(names('evil', 3_000), 'evil');
    need(['good-1', 'good-2'], 'good');
    found();
    expect(requests[1]?.hostnames).toEqual(expect.arrayContaining(['good-1', 'good-2']));
  });

  test('that are looked up again let those go first that have no answer', () => {
    const many = names('n', 300);
    const exist = Object.fromEntries(many.map((node) => [node, 'z2']));
    need(many);
    for (let n = 0; n < 3; n++) found(exist);
    clock.pass(999);
    need(['new']);
    expect(requests.at(-1)?.hostnames).toHaveLength(100);
    expect(requests.at(-1)?.hostnames).toContain('new');
  });

  test('that no Node can be named are never requested', () => {
    expect(need(['A', 'a b', '', '-', 'x'.repeat(254), 'a,b', '../x'])).not.toContain(false);
    expect(requests).toEqual([]);
  });
});

/** Answers each request after a round trip, and counts requests by the hour. */
class SlowServer {
  readonly clock = new ManualClock();
  readonly perHour: number[] = [];
  readonly needed = new Map<string, string>();
  readonly lookups: NodeLookups;
  /** When each view started, in milliseconds. */
  readonly startedAt = new Map<object, number>();
  readonly #views = new Set<object>();
  constructor(
    roundTripMs: number,
    zoneOf: (name: string, isByName: boolean) => string | undefined,
  ) {
    const find = ({ names, hostnames }: NodeRequest, done: (found: FoundNodes) => void): void => {
      const hour = Math.floor(this.clock.now() / HOUR_MS);
      const count = names.length + (hostnames.length > 0 ? 1 : 0);
      this.perHour[hour] = (this.perHour[hour] ?? 0) + count;
      const zones = new Map<string, string>();
      for (const name of [...names, ...hostnames]) {
        const zone = zoneOf(name, names.includes(name));
        if (zone !== undefined) zones.set(name, zone);
      }
      this.clock.after(roundTripMs, () => done({ zones }));
    };
    this.lookups = new NodeLookups({
      finder: { clock: this.clock, find, onTooMany: () => undefined },
      ownZone: () => 'z1',
      version: () => '',
      onNodes: (nodes) => {
        for (const node of nodes) {
          if (this.needed.has(node)) this.need([node], this.needed.get(node) ?? '');
        }
        for (const view of this.#views) this.start(view);
      },
    });
  }

  need(list: readonly string[], namespace: string): void {
    for (const name of list) {
      this.needed.set(name, namespace);
      this.lookups.request(name, namespace);
    }
  }

  start(view: object): void {
    this.#views.add(view);
    if (this.startedAt.has(view) || this.lookups.mustWait(view)) return;
    this.startedAt.set(view, this.clock.now());
  }

  requestsIn(hour: number): number {
    return this.perHour[hour] ?? 0;
  }
}

const NO_NODE = () => undefined;

// The disk has what decided before: without it, another endpoint would be selected.
test('a view waits for the first answer, also if the disk delays it, and not for later ones that fail', () => {
  need(['a']);
  expect(isWaiting()).toBe(true);
  clock.pass(30_000);
  expect(isWaiting()).toBe(true);
  found();
  need(['b']);
  expect(isWaiting()).toBe(true);
  answer({ error: 'the API server does not answer' });
  expect(isWaiting()).toBe(false);
});

describe('whatever one tenant writes', () => {
  // 600 names kept the views of all Namespaces closed for 288 s, because a round trip was longer than a refill.
  test('views start two seconds after the first answer, or after they could start', () => {
    const round = fc.record({
      count: fc.integer({ min: 1, max: 1_500 }),
      roundTripMs: fc.nat(5_000),
    });
    const writes = fc.array(fc.nat(1_000), { maxLength: 20 });
    fc.assert(
      fc.property(round, writes, fc.nat(20_000), ({ count, roundTripMs }, pauses, laterMs) => {
        const server = new SlowServer(roundTripMs, NO_NODE);
        const [first, second] = [{ n: 1 }, { n: 2 }];
        server.need(names('n', count), 'evil');
        server.start(first);
        pauses.forEach((pauseMs, n) => {
          server.clock.pass(pauseMs);
          server.need(names(`more-${n}`, 10), 'evil');
        });
        server.clock.pass(laterMs);
        const at = server.clock.now();
        server.start(second);
        server.clock.pass(10_000);
        expect(server.startedAt.get(first)).toBeLessThanOrEqual(roundTripMs + 2_000);
        expect(server.startedAt.get(second)).toBeLessThanOrEqual(Math.max(at, roundTripMs) + 2_000);
      }),
      { numRuns: 20 },
    );
  });

  test('the answers that come after a view has started count', () => {
    const server = new SlowServer(600, (name, isByName) =>
      isByName && name.startsWith('moved') ? 'z2' : undefined,
    );
    server.need(names('n', 600), 'evil');
    server.need(names('moved', 10), 'good');
    server.clock.pass(60_000);
    expect(names('moved', 10).filter((node) => !server.lookups.isElsewhere(node))).toEqual([]);
  });

  // 20 names cost 141 requests an hour for ever, 1,000 cost 6,858, on each node of the zone.
  test.each([
    ['invented names', 'invented', NO_NODE],
    ['invented names that are no label values', `long-${'x'.repeat(60)}`, NO_NODE],
    ['Nodes of another zone', 'far', () => 'z2'],
    [
      'Nodes of another zone with another hostname',
      'odd',
      (_: string, isByName: boolean) => (isByName ? 'z2' : undefined),
    ],
  ])(
    '%s cost one request each at first, and in the end about one for 100 in an hour',
    (_, prefix, zoneOf) => {
      for (const count of [1, 5, 20, 100, 500]) {
        const server = new SlowServer(20, zoneOf);
        server.need(names(prefix, count), 'evil');
        server.clock.pass(4 * HOUR_MS);
        expect(server.requestsIn(0)).toBeLessThanOrEqual(1.5 * count + 100);
        const before = [1, 2, 3].map((hour) => server.requestsIn(hour));
        expect(Math.max(...before)).toBeLessThanOrEqual(count / 20 + 20);
        server.clock.pass(12 * HOUR_MS);
        const hourly = Array.from({ length: 12 }, (_, n) => server.requestsIn(4 + n));
        expect(hourly.reduce((a, b) => a + b) / 12).toBeLessThanOrEqual(count / 70 + 2);
      }
    },
  );

  test('names that are written one after the other are soon looked up together', () => {
    const server = new SlowServer(20, NO_NODE);
    for (let n = 0; n < 300; n++) {
      server.need([`n-${n}`], 'evil');
      server.clock.pass(30_000);
    }
    server.clock.pass(17 * HOUR_MS);
    for (let hour = 10; hour < 19; hour++) expect(server.requestsIn(hour)).toBeLessThanOrEqual(12);
  });

  test('there are at most two requests a second in the long run', () => {
    const server = new SlowServer(0, NO_NODE);
    for (let n = 0; n < 600; n++) {
      server.needed.clear();
      server.need(names(`n-${n}`, 20), 'evil');
      server.clock.pass(1_000);
    }
    expect(server.requestsIn(0)).toBeLessThanOrEqual(2 * 600 + 5 * 8);
  });

  test('more Namespaces than names in a request are all answered', () => {
    const server = new SlowServer(20, (name) => (name === 'moved' ? 'z2' : undefined));
    for (let n = 0; n < 8; n++) server.need(names(`evil-${n}-${'x'.repeat(60)}`, 200), `evil-${n}`);
    server.need(['moved'], 'good');
    server.clock.pass(120_000);
    expect(server.lookups.isElsewhere('moved')).toBe(true);
  });
});

test('a Namespace that names too many has to give way to others, never the reverse', () => {
  const namespaces = ['one', 'two', 'three'];
  const step = fc.record({ namespace: fc.constantFrom(...namespaces), count: fc.nat(6_000) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 5 }), (steps) => {
      const own = new NodeLookups({
        finder: { clock, find: () => undefined, onTooMany: () => undefined },
        ownZone: () => 'z1',
        version: () => '',
        onNodes: () => undefined,
      });
      steps.forEach(({ namespace, count }, n) => {
        for (const name of names(`${namespace}-${n}`, count)) own.request(name, namespace);
      });
      // Whatever others have done, a Namespace that needs few has room.
      const few = names('few', 1_000);
      expect(few.map((name) => own.request(name, 'few'))).not.toContain(false);
      const known = [...steps.entries()].flatMap(([n, { namespace, count }]) =>
        names(`${namespace}-${n}`, count).filter(
          (name) => own.problemOf(name) !== 'it was not looked up',
        ),
      );
      expect(known.length + few.length).toBeLessThanOrEqual(4_096);
    }),
    { numRuns: 20 },
  );
});

test('while look-ups fail the field applies, and they are repeated after 1 s, 2 s, and so on up to 30 s', () => {
  need(['a']);
  answer({ error: 'nodes is forbidden' });
  expect([lookups.isElsewhere('a'), isWaiting()]).toEqual([false, false]);
  expect(lookups.problemOf('a')).toBe('nodes is forbidden');
  let count = 1;
  for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
    need([`b-${seconds}`]);
    clock.pass(seconds * 1_000 - 1);
    expect([requests.length, isWaiting()]).toEqual([count, false]);
    clock.pass(1);
    expect(requests.length).toBe(++count);
    answer({ error: 'nodes is forbidden' });
  }
  clock.pass(30_000);
  found({ a: 'z2' });
  expect([lookups.isElsewhere('a'), lookups.problemOf('a')]).toEqual([true, undefined]);
});

test('while look-ups fail, what is remembered applies before the field', () => {
  const remembered = new Map([
    ['a', 'z2'],
    ['b', 'z1'],
    ['c', ''],
  ]);
  need(['a', 'b']);
  answer({ error: 'the API server does not answer', remembered });
  expect(['a', 'b'].map((node) => lookups.isElsewhere(node))).toEqual([true, false]);
  expect([decided, isWaiting()]).toEqual([['a'], false]);
  expect(lookups.problemOf('a')).toBe('the API server does not answer');
  // Without another failure.
  need(['c', 'd']);
  expect(['c', 'd'].map((node) => lookups.isElsewhere(node))).toEqual([true, false]);
  clock.pass(1_000);
  found({ b: 'z1', c: 'z2' });
  expect(['a', 'b', 'c'].map((node) => lookups.isElsewhere(node))).toEqual([false, false, true]);
});
