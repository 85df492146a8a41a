import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { NodeSetRegistry } from '../../../src/topology/state/node-set-registry.ts';
import { Topology } from '../../../src/topology/state/topology.ts';
import { ServicesWithoutZone } from '../../../src/topology/state/without-zone.ts';
import { PLAIN_TOPOLOGY } from '../../support/projection/topology.ts';

describe('NodeSetRegistry', () => {
  test('opens what is missing, lets the rest linger, and says whether that changed anything', () => {
    const sets = new NodeSetRegistry();
    expect(sets.want(new Set(['a', 'b']))).toBe(true);
    expect(sets.want(new Set(['b', 'a']))).toBe(false);
    expect(sets.want(new Set(['b']))).toBe(true);
    expect(sets.want(new Set(['b']))).toBe(false);
    expect([...sets.all.values()].map(({ selector, needed }) => [selector, needed])).toEqual([
      ['a', false],
      ['b', true],
    ]);
    expect([sets.drop('a'), sets.drop('a'), sets.drop('b')]).toEqual([true, false, false]);
    expect([...sets.all.keys()]).toEqual(['b']);
  });

  test('a set that lingers knows its nodes when it is wanted again, one that was dropped does not', () => {
    const sets = new NodeSetRegistry();
    sets.want(new Set(['a']));
    sets.move('a', ['n'], []);
    sets.setState('a', undefined);
    sets.want(new Set());
    sets.want(new Set(['a']));
    expect([sets.areKnown(['a']), sets.include(['a'], 'n')]).toEqual([true, true]);
    sets.want(new Set());
    sets.drop('a');
    sets.want(new Set(['a']));
    expect([sets.areKnown(['a']), sets.include(['a'], 'n')]).toEqual([false, false]);
  });

  test('sets that linger make room for new ones, the oldest first; sets in use never do', () => {
    const sets = new NodeSetRegistry(2);
    const watched = () =>
      [...sets.all.values()].flatMap((s) => (s.state === 'syncing' ? [s.selector] : []));
    sets.want(new Set(['a', 'b']));
    sets.want(new Set(['a']));
    sets.want(new Set([]));
    sets.want(new Set(['c']));
    expect(watched()).toEqual(['a', 'c']);
    sets.want(new Set(['c', 'a', 'd', 'e']));
    expect(watched()).toEqual(['a', 'c']);
    expect(sets.all.get('d')).toMatchObject({
      state: 'overLimit',
      refusal: expect.stringContaining('maxNodeSets (2)'),
    });
    expect(sets.areKnown(['d', 'e'])).toBe(true);
    // The API server was not asked for it, so nobody can answer for it.
    sets.setState('d', undefined);
    expect(sets.all.get('d')?.state).toBe('overLimit');
    sets.want(new Set(['c', 'd', 'e']));
    expect(watched()).toEqual(['c', 'd']);
    expect(sets.all.get('e')?.state).toBe('overLimit');
    sets.want(new Set(['c', 'd']));
    expect([...sets.all.keys()].sort()).toEqual(['c', 'd']);
  });

  test('whatever is wanted when, never are more sets watched than may be, and none that is in use is closed', () => {
    const step = fc.oneof(
      fc.uniqueArray(fc.constantFrom(...'abcdef'), { maxLength: 6 }),
      fc.constantFrom(...'abcdef'),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { maxLength: 30 }),
        (max, steps) => {
          const sets = new NodeSetRegistry(max);
          const watched = () => [...sets.all.values()].filter(({ state }) => state !== 'overLimit');
          for (const step of steps) {
            const inUse = watched().filter(({ needed }) => needed);
            if (typeof step === 'string') sets.drop(step);
            else sets.want(new Set(step));
            expect(watched().length).toBeLessThanOrEqual(max);
            for (const set of inUse) {
              const stillNeeded = typeof step === 'string' || step.includes(set.selector);
              if (stillNeeded) expect(sets.all.get(set.selector)).toBe(set);
            }
            const waiting = sets.all.size - watched().length;
            if (waiting > 0)
              expect(watched().every(({ needed }) => needed) && watched().length === max).toBe(
                true,
              );
            if (typeof step !== 'string')
              for (const each of step) expect(sets.all.get(each)?.needed).toBe(true);
          }
        },
      ),
    );
  });

  test('is known when synced or refused, all of them', () => {
    const sets = new NodeSetRegistry();
    sets.want(new Set(['a', 'b']));
    sets.setState('a', undefined);
    expect(sets.areKnown(['a', 'b'])).toBe(false);
    sets.setState('b', 'forbidden');
    expect(sets.areKnown(['a', 'b'])).toBe(true);
    sets.setState('unknown', undefined);
    expect(sets.all.size).toBe(2);
  });

  test('a set that was synced stays so when it is refused', () => {
    const sets = new NodeSetRegistry();
    sets.want(new Set(['a']));
    sets.setState('a', undefined);
    sets.setState('a', 'forbidden');
    expect(sets.all.get('a')).toMatchObject({ state: 'synced', refusal: 'forbidden' });
  });

  test('names the nodes for which entering or leaving is news', () => {
    const sets = new NodeSetRegistry();
    expect(sets.move('a', ['n'], [])).toEqual([]);
    sets.want(new Set(['a']));
    expect(sets.move('a', ['n', 'm'], ['x'])).toEqual(['n', 'm']);
    expect(sets.move('a', ['n'], ['m', 'm'])).toEqual(['m']);
    expect(sets.include(['b', 'a'], 'n')).toBe(true);
    expect(sets.include(['a'], 'm')).toBe(false);
  });
});

describe('World.setWithheld()', () => {
  const start = () => {
    const topology = new Topology({ ...PLAIN_TOPOLOGY, nodeName: 'own' });
    const told: string[] = [];
    const note = (turn: string) => (services: Iterable<string>) => {
      const all = [...services].map((service) => `${service} ${topology.cloudOnly.has(service)}`);
      told.push([turn, ...all].join(' '));
    };
    const end = topology.subscribe({ hiding: note('hiding'), showing: note('showing') });
    return { topology, told, end };
  };

  test('is known from the first time it is told, even if nothing is withheld', () => {
    const { topology, told, end } = start();
    expect(topology.cloudOnly.known).toBe(false);
    topology.setCloudOnly(new Map());
    expect([topology.cloudOnly.known, topology.cloudOnly.size, told]).toEqual([
      true,
      0,
      ['hiding', 'showing'],
    ]);
    topology.setCloudOnly(new Map());
    expect(told).toHaveLength(2);
    end();
    topology.setCloudOnly(new Map([['web', true]]));
    expect(told).toHaveLength(2);
  });

  test('names all that were decided, after they are', () => {
    const { topology, told } = start();
    topology.setCloudOnly(
      new Map([
        ['web', true],
        ['db', false],
      ]),
    );
    topology.setCloudOnly(new Map([['web', false]]));
    expect(told).toEqual([
      'hiding web true db false',
      'showing web true db false',
      'hiding web false',
      'showing web false',
    ]);
    expect(topology.cloudOnly.size).toBe(0);
  });
});

describe('ZonelessServices', () => {
  test('a Service is one as long as any view says so', () => {
    const services = new ServicesWithoutZone();
    const [one, other] = [{}, {}];
    const isOne = () => services.hasAnyOf(new Set(['web']));
    expect(services.set(one, [['web', true]])).toBe(true);
    expect(services.set(one, [['web', true]])).toBe(false);
    services.set(other, [['web', true]]);
    services.set(one, [['web', false]]);
    expect(isOne()).toBe(true);
    expect(services.set(other, [['web', false]])).toBe(true);
    expect(services.set(other, [['web', false]])).toBe(false);
    expect(isOne()).toBe(false);
  });

  test.each([
    [['web'], ['db', 'web', 'x'], true],
    [['web', 'db', 'x'], ['db'], true],
    [['web'], ['db', 'x'], false],
    [[], ['db'], false],
  ])('of %j, any is among %j: %j', (zoneless, asked, expected) => {
    const services = new ServicesWithoutZone();
    services.set(
      {},
      zoneless.map((name) => [name, true] as const),
    );
    expect(services.hasAnyOf(new Set(asked))).toBe(expected);
  });
});
