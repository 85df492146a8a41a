import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { NodeSetRegistry } from '../../../src/topology/state/node-set-registry.ts';

describe('NodeSetRegistry', () => {
  test('the first sets that are needed have room; those that linger make room, the oldest first', () => {
    const sets = new NodeSetRegistry(2);
    const watched = () =>
      [...sets.all.values()].flatMap((s) => (s.state === 'syncing' ? [s.selector] : []));
    sets.want(['a', 'b']);
    sets.want(['a']);
    sets.want([]);
    sets.want(['c']);
    expect(watched()).toEqual(['a', 'c']);
    sets.want(['c', 'a', 'd', 'e']);
    expect(watched()).toEqual(['a', 'c']);
    expect(sets.all.get('d')).toMatchObject({
      state: 'overLimit',
      refusal: expect.stringContaining('maxNodeSets (2)'),
    });
    expect([sets.areKnown(['d', 'e']), sets.apply(['a']), sets.apply(['a', 'd'])]).toEqual([
      true,
      true,
      false,
    ]);
    // The set is not watched, so a late report about it has no effect.
    sets.setState('d', undefined);
    expect(sets.all.get('d')?.state).toBe('overLimit');
    sets.want(['d', 'c', 'e']);
    expect(watched()).toEqual(['c', 'd']);
    expect(sets.apply(['d'])).toBe(false);
    sets.setState('d', undefined);
    expect([sets.apply(['d']), sets.all.get('e')?.state]).toEqual([true, 'overLimit']);
    sets.want(['c', 'd']);
    expect([...sets.all.keys()].sort()).toEqual(['c', 'd']);
  });

  test('for any sequence of needs, at most `max` sets are watched, and the first that are needed stay', () => {
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
            const open = watched().map((set) => ({ set, wasNeeded: set.needed }));
            const before = JSON.stringify([...sets.all.values()]);
            const changed = typeof step === 'string' ? sets.drop(step) : sets.want(step);
            const after = JSON.stringify([...sets.all.values()]);
            if (after !== before) expect(changed).toBe(true);
            expect(watched().length).toBeLessThanOrEqual(max);
            const first = typeof step === 'string' ? undefined : step.slice(0, max);
            for (const { set, wasNeeded } of open) {
              const stays = first?.includes(set.selector) ?? wasNeeded;
              if (stays) expect(sets.all.get(set.selector)).toBe(set);
            }
            if (typeof step === 'string') continue;
            for (const each of step) expect(sets.all.get(each)?.needed).toBe(true);
            for (const each of first ?? [])
              expect(watched().map((s) => s.selector)).toContain(each);
            for (const each of sets.withoutRoom) expect(step).toContain(each);
          }
        },
      ),
    );
  });
});
