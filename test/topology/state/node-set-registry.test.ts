import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { NODE_SET_LINGER_MS } from '../../../src/topology/state/node-set.ts';
import { NodeSetRegistry } from '../../../src/topology/state/node-set-registry.ts';
import { ManualClock } from '../../support/clocks.ts';
import { notWatched } from '../../support/topology/plain-topology.ts';

/** A registry, its clock, and what it has reported. */
function registryOf(max: number) {
  const clock = new ManualClock();
  const reports: string[] = [];
  const sets = new NodeSetRegistry({
    max,
    watcher: notWatched(clock),
    onMoved: ({ selector }, nodes) => reports.push(`${selector} moved ${nodes.join()}`),
    onState: ({ selector, state }) => reports.push(`${selector} ${state}`),
    onClosed: () => reports.push('closed'),
  });
  return { sets, clock, reports };
}

describe('NodeSetRegistry', () => {
  test('the first sets that are needed have room; those that linger make room, the oldest first', () => {
    const { sets } = registryOf(2);
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
    expect([sets.areSettled(['d', 'e']), sets.apply(['a']), sets.apply(['a', 'd'])]).toEqual([
      true,
      true,
      false,
    ]);
    // The set is not watched, so a late report about it has no effect.
    sets.all.get('d')?.sync();
    expect(sets.all.get('d')?.state).toBe('overLimit');
    sets.want(['d', 'c', 'e']);
    expect(watched()).toEqual(['c', 'd']);
    expect(sets.apply(['d'])).toBe(false);
    sets.all.get('d')?.sync();
    expect([sets.apply(['d']), sets.all.get('e')?.state]).toEqual([true, 'overLimit']);
    sets.want(['c', 'd']);
    expect([...sets.all.keys()].sort()).toEqual(['c', 'd']);
  });

  test('for any sequence of needs, at most `max` sets are watched, and the first that are needed stay', () => {
    const step = fc.oneof(
      fc.uniqueArray(fc.constantFrom(...'abcdef'), { maxLength: 6 }),
      fc.constantFrom('later'),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { maxLength: 30, size: 'max' }),
        (max, steps) => {
          const { sets, clock, reports } = registryOf(max);
          const watched = () => [...sets.all.values()].filter(({ state }) => state !== 'overLimit');
          for (const step of steps) {
            const open = watched().map((set) => ({ set, wasNeeded: set.needed }));
            const before = stateOf(sets);
            reports.length = 0;
            if (typeof step === 'string') clock.pass(NODE_SET_LINGER_MS);
            const changed = typeof step === 'string' ? reports.length > 0 : sets.want(step);
            if (stateOf(sets) !== before) expect(changed).toBe(true);
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

  test('what the watch of a closed set still reads does not change the set that is open now', async () => {
    const { sets, clock, reports } = registryOf(1);
    sets.want(['a']);
    const closed = sets.all.get('a');
    sets.want([]);
    clock.pass(NODE_SET_LINGER_MS);
    sets.want(['a']);
    closed?.change(['edge-1'], []);
    closed?.sync();
    closed?.refuse('forbidden');
    expect([reports, sets.all.get('a')?.state]).toEqual([['closed'], 'syncing']);
  });

  test('closes each watch once: after a minute without need, for room, over the limit, and at the end', async () => {
    const clock = new ManualClock();
    const open: string[] = [];
    const sets = new NodeSetRegistry({
      max: 2,
      watcher: {
        clock,
        open: ({ selector }) => {
          open.push(selector);
          const close = async () => void open.splice(open.indexOf(selector), 1);
          return { status: { connected: true }, close };
        },
        onOverLimit: ({ selector, refusal }) => expect([selector, refusal]).toContain('e'),
      },
      onMoved: () => undefined,
      onState: () => undefined,
      onClosed: () => undefined,
    });
    sets.want(['a', 'b']);
    sets.want(['b']);
    clock.pass(NODE_SET_LINGER_MS - 1);
    expect(open).toEqual(['a', 'b']);
    clock.pass(1);
    expect(open).toEqual(['b']);
    sets.want(['c']);
    sets.want(['c', 'd']);
    expect(open).toEqual(['c', 'd']);
    sets.want(['d', 'f', 'e']);
    sets.want(['d', 'c', 'e']);
    expect(open).toEqual(['d', 'c']);
    await sets.close();
    sets.want(['a']);
    clock.pass(NODE_SET_LINGER_MS);
    expect([open, clock.waiting]).toEqual([[], 0]);
  });
});

function stateOf({ all }: NodeSetRegistry): string {
  const sets = [...all.values()];
  return JSON.stringify(sets.map(({ selector, state, needed }) => [selector, state, needed]));
}
