import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ANYONE, type Reservation, ViewBudget } from '../../../src/proxy/views/view-budget.ts';

const LIMITS = { maxViews: 8, maxViewBytes: 1_000 };
const CALLERS = [ANYONE, 'a', 'b', 'c'];

function create(makeRoom: (caller: string | undefined) => boolean = () => false): ViewBudget {
  const shareOf = (caller: string) => (caller === ANYONE ? 1 / 2 : 1 / 4);
  return new ViewBudget({ ...LIMITS, shareOf, makeRoom });
}

/** Runs an action; returns whether it was allowed. */
function attempt(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 'LimitExceeded', status: { code: 503 } });
    return false;
  }
}

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('open' as const), who: fc.nat(3) }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('use' as const), who: fc.nat(3), view: fc.nat() }),
  },
  fc.record({ do: fc.constant('leave' as const), view: fc.nat(), use: fc.nat() }),
  fc.record({ do: fc.constant('resize' as const), view: fc.nat(), bytes: fc.nat(600) }),
  fc.record({ do: fc.constant('close' as const), view: fc.nat() }),
);

describe('the budget of views', () => {
  test('is never exceeded, in total or by one caller, is the sum of the open views, and is 0 when all are closed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const budget = create();
        const open: { reservation: Reservation; uses: string[]; last: string }[] = [];
        for (const each of steps) {
          const view = 'view' in each ? open[each.view % open.length] : undefined;
          if (each.do === 'open') {
            const who = CALLERS[each.who] as string;
            attempt(() => {
              const reservation = budget.open(who);
              budget.enter(reservation, who);
              open.push({ reservation, uses: [who], last: who });
            });
          } else if (view === undefined) continue;
          else if (each.do === 'use') {
            const who = CALLERS[each.who] as string;
            const granted = attempt(() => budget.enter(view.reservation, who));
            if (granted) view.uses.push(who);
          } else if (each.do === 'resize') {
            const { bytes: before } = view.reservation;
            const granted = attempt(() => budget.resize(view.reservation, each.bytes));
            expect(view.reservation.bytes).toBe(granted ? each.bytes : before);
          } else if (each.do === 'close') {
            budget.close(view.reservation);
            budget.close(view.reservation);
            open.splice(open.indexOf(view), 1);
          } else if (view.uses.length > 0) {
            const [who] = view.uses.splice(each.use % view.uses.length, 1);
            view.last = who as string;
            view.reservation.leave(view.last);
          }
          const bytes = open.reduce((sum, { reservation }) => sum + reservation.bytes, 0);
          expect(budget.used).toEqual({ views: open.length, bytes });
          expect(open.length).toBeLessThanOrEqual(LIMITS.maxViews);
          expect(bytes).toBeLessThanOrEqual(LIMITS.maxViewBytes);
          for (const who of CALLERS) {
            // A view counts for each caller that reads it, and an idle one for the last.
            const own = open.filter(({ uses, last }) => [...uses, uses[0] ?? last].includes(who));
            expect(budget.viewsOf(who)).toBe(own.length);
            expect(own.length).toBeLessThanOrEqual(who === ANYONE ? 4 : 2);
          }
        }
        for (const { reservation } of open) budget.close(reservation);
        expect(budget.used).toEqual({ views: 0, bytes: 0 });
      }),
      { numRuns: 300 },
    );
  });

  test('makes room before it refuses, among the views of the caller if its share is used up', () => {
    const searched: (string | undefined)[] = [];
    const idle: Reservation[] = [];
    const budget = create((caller) => {
      searched.push(caller);
      const victim = idle.pop();
      if (victim !== undefined) budget.close(victim);
      return victim !== undefined;
    });
    idle.push(budget.open('a'), budget.open('a'));
    expect(attempt(() => budget.open('a'))).toBe(true);
    expect(searched).toEqual(['a']);
    idle.length = 0;
    budget.resize(budget.open('b'), 950);
    expect(attempt(() => budget.resize(budget.open('c'), 100))).toBe(false);
    expect(searched.at(-1)).toBeUndefined();
  });

  const open = (budget: ViewBudget, callers: string[]) => {
    for (const who of callers) budget.open(who);
  };
  test.each<[string, string, RegExp, (budget: ViewBudget) => void]>([
    ['caller_views', 'maxViews', /2 of the 2 views/, (budget) => open(budget, ['a', 'a', 'a'])],
    [
      'caller_views',
      'maxViews',
      /2 of the 2 views/,
      (budget) => {
        const view = budget.open('b');
        budget.enter(view, 'b');
        open(budget, ['a', 'a']);
        budget.enter(view, 'a');
      },
    ],
    ['views', 'maxViews', /8 of 8 views/, (budget) => open(budget, [...'aabbccdde'])],
    ['bytes', 'maxViewBytes', /0.0 MB/, (budget) => budget.resize(budget.open('a'), 1_001)],
  ])('a refusal counts as %s and names %s and the used amount', (reason, setting, used, act) => {
    const budget = create();
    expect(budget.remark).toBeUndefined();
    expect(() => act(budget)).toThrow(setting);
    expect(budget.remark).toMatch(used);
    const none = { views: 0, bytes: 0, caller_views: 0 };
    expect(budget.refusals).toEqual({ ...none, [reason]: 1 });
  });
});
