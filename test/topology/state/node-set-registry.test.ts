import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { NodeSetRegistry } from '../../../src/topology/state/node-set-registry.ts';

describe('NodeSetRegistry', () => {
  test('sets that linger make room for new sets, the oldest first; sets in use never do', () => {
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
    // The set is not watched, so a late report about it has no effect.
    sets.setState('d', undefined);
    expect(sets.all.get('d')?.state).toBe('overLimit');
    sets.want(new Set(['c', 'd', 'e']));
    expect(watched()).toEqual(['c', 'd']);
    expect(sets.all.get('e')?.state).toBe('overLimit');
    sets.want(new Set(['c', 'd']));
    expect([...sets.all.keys()].sort()).toEqual(['c', 'd']);
  });

  test('for any sequence of needs, at most `max` sets are watched, and no set in use is closed', () => {
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
            const before = JSON.stringify([...sets.all.values()]);
            const changed = typeof step === 'string' ? sets.drop(step) : sets.want(new Set(step));
            expect(changed).toBe(JSON.stringify([...sets.all.values()]) !== before);
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
});
