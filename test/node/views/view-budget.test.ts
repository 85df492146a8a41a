import { describe, expect, test } from '@jest/globals';
import { ViewBudget } from '../../../src/node/views/view-budget.ts';
import { ANYONE, type EntryLease, ViewEntry } from '../../../src/node/views/view-entry.ts';
import type { ViewSource } from '../../../src/node/views/view-source.ts';
import { advancingClock } from '../../support/advancing-clock.ts';

const LIMITS = { maxViews: 8, maxViewBytes: 1_000 };

/** A budget, and the callers of the views that are open. */
function create() {
  const open = new Set<ViewEntry>();
  const shareOf = (caller: string) => (caller === ANYONE ? 1 / 2 : 1 / 4);
  const close = (entry: ViewEntry) => open.delete(entry);
  const budget = new ViewBudget({ ...LIMITS, shareOf, entries: () => open, close });
  /** Opens a view that a caller has read, and still reads unless it is idle. Throws if there is no room for it. */
  const openFor = (caller: string, isIdle = false): ViewEntry => {
    budget.assertRoom(caller);
    const entry = new ViewEntry(true, () => ({ view: {} }) as ViewSource);
    entry.lastCaller = caller;
    if (!isIdle) entry.leases.add({ caller } as EntryLease);
    open.add(entry);
    return entry;
  };
  return { budget, open, openFor };
}

describe('the budget of views', () => {
  const clock = advancingClock();

  test('makes room before it refuses, among the views of the caller if its share is used up', () => {
    const { budget, open, openFor } = create();
    const idle = [...'bacb'].map((caller) => openFor(caller, true));
    openFor('a');
    expect(() => openFor('a')).toThrow('maxViews');
    clock.advance(5_000);
    openFor('a');
    expect([...open]).toEqual(expect.arrayContaining([idle[0], idle[2], idle[3]]));
    expect([...open]).not.toContain(idle[1]);
    budget.resize(idle[3] as ViewEntry, 500);
    budget.resize(openFor('c'), 450);
    budget.resize(openFor('d'), 100);
    expect(idle.filter((entry) => open.has(entry))).toEqual([]);
    budget.resize(openFor('e'), 450);
    expect(() => budget.resize(openFor('f'), 451)).toThrow('maxViewBytes');
  });

  test('leaves half of the bytes to others, though they read the same view', () => {
    const { budget, openFor } = create();
    const [own, shared] = [openFor('a'), openFor('b')];
    budget.resize(own, 400);
    budget.resize(shared, 101);
    expect(() => budget.assertMayRead(shared, 'a')).toThrow('views of this client');
    budget.resize(shared, 100);
    budget.assertMayRead(shared, 'a');
    shared.leases.add({ caller: 'a' } as EntryLease);
    expect(() => budget.resize(own, 401)).toThrow('views of this client');
    // The other reader has room for it.
    budget.resize(shared, 500);
    expect(budget.refusals).toMatchObject({ caller_bytes: 2, bytes: 0 });
    budget.resize(own, 300);
  });

  type Open = ReturnType<typeof create>['openFor'];
  const openAll = (open: Open, callers: string) => {
    for (const caller of callers) open(caller);
  };
  test.each<[string, string, RegExp, (budget: ViewBudget, open: Open) => void]>([
    ['caller_views', 'maxViews', /2 of the 2 views/, (_, open) => openAll(open, 'aaa')],
    [
      'caller_views',
      'maxViews',
      /2 of the 2 views/,
      (budget, open) => {
        const view = open('b');
        openAll(open, 'aa');
        budget.assertMayRead(view, 'b');
        budget.assertMayRead(view, 'a');
      },
    ],
    ['views', 'maxViews', /8 of 8 views/, (_, open) => openAll(open, 'aabbccdde')],
    [
      'caller_bytes',
      'maxViewBytes',
      /0.0 MB of 0.0 MB that one client may have/,
      (budget, open) => budget.resize(open('a'), 501),
    ],
    [
      'bytes',
      'maxViewBytes',
      /0.0 MB/,
      (budget, open) => {
        for (const caller of 'abc') budget.resize(open(caller), 400);
      },
    ],
  ])('a refusal counts as %s and names %s and the used amount', (reason, setting, used, act) => {
    const { budget, openFor } = create();
    expect(budget.remark).toBeUndefined();
    expect(() => act(budget, openFor)).toThrow(setting);
    expect(budget.remark).toMatch(used);
    const none = { views: 0, bytes: 0, caller_views: 0, caller_bytes: 0 };
    expect(budget.refusals).toEqual({ ...none, [reason]: 1 });
  });
});
