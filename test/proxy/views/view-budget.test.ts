import { describe, expect, test } from '@jest/globals';
import { ANYONE, type BudgetedView, ViewBudget } from '../../../src/proxy/views/view-budget.ts';

const LIMITS = { maxViews: 8, maxViewBytes: 1_000 };

/** A budget, and the callers of the views that are open. */
function create(closeIdle: (caller: string | undefined) => boolean = () => false) {
  const views: BudgetedView[] = [];
  const shareOf = (caller: string) => (caller === ANYONE ? 1 / 2 : 1 / 4);
  const budget = new ViewBudget({ ...LIMITS, shareOf, views: () => views, makeRoom: closeIdle });
  /** Opens a view that these callers read. Throws if the first of them has no room for it. */
  const open = (...callers: string[]): BudgetedView => {
    budget.assertRoom(callers[0] as string);
    const view = { bytes: 0, countsFor: (caller: string) => callers.includes(caller) };
    views.push(view);
    return view;
  };
  return { budget, views, open };
}

describe('the budget of views', () => {
  test('makes room before it refuses, among the views of the caller if its share is used up', () => {
    const searched: (string | undefined)[] = [];
    const { budget, views, open } = create((caller) => {
      searched.push(caller);
      return caller === 'a' && views.shift() !== undefined;
    });
    open('a');
    open('a');
    expect(() => open('a')).not.toThrow();
    expect(searched).toEqual(['a']);
    budget.resize(open('b'), 950);
    expect(() => budget.resize(open('c'), 100)).toThrow('maxViewBytes');
    expect(searched.at(-1)).toBeUndefined();
  });

  type Open = ReturnType<typeof create>['open'];
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
    ['bytes', 'maxViewBytes', /0.0 MB/, (budget, open) => budget.resize(open('a'), 1_001)],
  ])('a refusal counts as %s and names %s and the used amount', (reason, setting, used, act) => {
    const { budget, open } = create();
    expect(budget.remark).toBeUndefined();
    expect(() => act(budget, open)).toThrow(setting);
    expect(budget.remark).toMatch(used);
    const none = { views: 0, bytes: 0, caller_views: 0 };
    expect(budget.refusals).toEqual({ ...none, [reason]: 1 });
  });
});
