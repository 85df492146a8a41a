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
/** What was requested, oldest first, and how to answer the last one. */
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
  lookups.send();
  return room;
}

function found(zones: Record<string, string> = {}): void {
  answer({ zones: new Map(Object.entries(zones)) });
}

const names = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${prefix}-${n}`);

describe('a Node that the field puts into our zone', () => {
  test('is elsewhere once its label says so, and until then where the field says', () => {
    need(['a']);
    expect(requests).toEqual([{ names: ['a'], by: 'name', version: '7' }]);
    expect([lookups.isElsewhere('a'), lookups.isWaiting]).toEqual([false, true]);
    found({ a: 'z2' });
    expect([lookups.isElsewhere('a'), lookups.isWaiting, decided]).toEqual([true, false, ['a']]);
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
  // A busy process is late, and a Service that was being decided was decided again before it was shown.
  test('not while a Service is decided that needs another one, but later', () => {
    need(['a']);
    clock.after(1_000, () => {
      decided = [];
      need(['b']);
      expect([requests.at(-1)?.names, decided]).toEqual([['b'], []]);
    });
    found();
    clock.pass(1_000);
    found();
    expect([requests.at(-1)?.names, decided]).toEqual([['a'], ['a']]);
  });

  const isAskedAfter = (ms: number): boolean => {
    const before = requests.length;
    clock.pass(ms - 1);
    if (requests.length > before) throw new Error('it was looked up too soon');
    clock.pass(1);
    return requests.length > before;
  };

  test('that does not exist: after 1 s, 2 s, and so on up to 10 minutes', () => {
    need(['a']);
    for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]) {
      found();
      expect(isAskedAfter(seconds * 1_000)).toBe(true);
    }
    found({ a: '' });
    expect(lookups.isElsewhere('a')).toBe(true);
  });

  test('that is elsewhere: in the end once an hour, because it may be deleted', () => {
    need(['a']);
    for (let n = 0; n < 20; n++) {
      found({ a: 'z2' });
      clock.pass(HOUR_MS);
    }
    expect(requests.length).toBe(21);
    found();
    expect(lookups.isElsewhere('a')).toBe(false);
  });

  test('only while a Service needs it', () => {
    need(['a']);
    found({ a: 'z2' });
    needed.clear();
    clock.pass(HOUR_MS);
    expect([requests.length, lookups.zoneOf('a'), clock.waiting]).toEqual([1, undefined, 0]);
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
  test('are looked up together by hostname, and by name only those that are not found so', () => {
    const many = names('n', 6);
    need(['first']);
    need(many);
    found();
    expect(requests[1]).toMatchObject({ names: many, by: 'hostname' });
    found(Object.fromEntries(many.slice(0, 5).map((node) => [node, 'z2'])));
    expect(requests[2]).toMatchObject({ names: ['n-5'], by: 'name' });
    found({ 'n-5': 'z3' });
    expect(many.every((node) => lookups.isElsewhere(node))).toBe(true);
  });

  test('that have no hostname label are still elsewhere when they are looked up again', () => {
    const many = names('n', 6);
    need(many);
    found();
    const exist = Object.fromEntries(many.map((node) => [node, 'z2']));
    for (let n = 0; n < 2; n++) found(exist);
    clock.pass(1_000);
    expect(requests.at(-1)?.by).toBe('hostname');
    found();
    expect(many.every((node) => lookups.isElsewhere(node))).toBe(true);
    expect(requests.at(-1)?.by).toBe('name');
  });

  test('cost two requests a second in the long run, and no view waits for them', () => {
    need(names('n', 3_000));
    for (let n = 0; n < 60; n++) found();
    const asked = () =>
      requests.reduce((sum, { by, names: each }) => sum + (by === 'name' ? each.length : 1), 0);
    expect([asked(), lookups.isWaiting]).toEqual([32, false]);
    for (let n = 1; n <= 20; n++) {
      clock.pass(500);
      found();
      expect(asked()).toBe(32 + n);
    }
  });

  // Those that were found were looked up again and again, and the others never.
  test('that are found by name only are all found, whatever is looked up again meanwhile', () => {
    const many = names('n', 100);
    const exist = Object.fromEntries(many.map((node) => [node, 'z2']));
    need(many);
    for (let n = 0; n < 200; n++) {
      if (requests.at(-1)?.by === 'name') found(exist);
      else found();
      clock.pass(500);
    }
    expect(many.filter((node) => !lookups.isElsewhere(node))).toEqual([]);
  });

  test('of two Namespaces take turns', () => {
    need(['busy']);
    need(names('evil', 3_000), 'evil');
    need(['good-1', 'good-2'], 'good');
    found();
    expect(requests[1]?.names).toEqual(expect.arrayContaining(['good-1', 'good-2']));
  });

  test('that no Node can be named are never requested', () => {
    expect(need(['A', 'a b', '', '-', 'x'.repeat(254), 'a,b', '../x'])).not.toContain(false);
    expect(requests).toEqual([]);
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
  expect([lookups.isElsewhere('a'), lookups.isWaiting]).toEqual([false, false]);
  expect(lookups.problemOf('a')).toBe('nodes is forbidden');
  let count = 1;
  for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
    need([`b-${seconds}`]);
    clock.pass(seconds * 1_000 - 1);
    expect([requests.length, lookups.isWaiting]).toEqual([count, false]);
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
  expect([decided, lookups.isWaiting]).toEqual([['a'], false]);
  expect(lookups.problemOf('a')).toBe('the API server does not answer');
  // Without another failure.
  need(['c', 'd']);
  expect(['c', 'd'].map((node) => lookups.isElsewhere(node))).toEqual([true, false]);
  clock.pass(1_000);
  found({ b: 'z1', c: 'z2' });
  expect(['a', 'b', 'c'].map((node) => lookups.isElsewhere(node))).toEqual([false, false, true]);
});
