import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ANYONE, ViewBudget, type ViewCharge } from '../../../src/proxy/views/view-budget.ts';

const LIMITS = { maxViews: 8, maxViewBytes: 1_000 };
const CALLERS = [ANYONE, 'a', 'b', 'c'];

function create(makeRoom: ViewBudget['open'] | (() => boolean) = () => false): ViewBudget {
  return new ViewBudget({
    ...LIMITS,
    shareOf: (holder) => (holder === ANYONE ? 1 / 2 : 1 / 4),
    makeRoom: makeRoom as () => boolean,
  });
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
  fc.record({ do: fc.constant('open' as const), who: fc.nat(3) }),
  fc.record({ do: fc.constant('use' as const), who: fc.nat(3), view: fc.nat() }),
  fc.record({ do: fc.constant('leave' as const), view: fc.nat(), use: fc.nat() }),
  fc.record({ do: fc.constant('resize' as const), view: fc.nat(), bytes: fc.nat(600) }),
  fc.record({ do: fc.constant('close' as const), view: fc.nat() }),
);

describe('the budget of views', () => {
  test('is never exceeded, in total or by one caller, is the sum of the open views, and is 0 when all are closed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const budget = create();
        const open: { charge: ViewCharge; uses: string[] }[] = [];
        for (const each of steps) {
          const view = 'view' in each ? open[each.view % open.length] : undefined;
          if (each.do === 'open') {
            const who = CALLERS[each.who] as string;
            attempt(() => {
              const charge = budget.open(who);
              charge.use(who);
              open.push({ charge, uses: [who] });
            });
          } else if (view === undefined) continue;
          else if (each.do === 'use') {
            const who = CALLERS[each.who] as string;
            attempt(() => {
              view.charge.use(who);
              view.uses.push(who);
            });
          } else if (each.do === 'resize') {
            const before = view.charge.bytes;
            const granted = attempt(() => view.charge.resize(each.bytes));
            expect(view.charge.bytes).toBe(granted ? each.bytes : before);
          } else if (each.do === 'close') {
            view.charge.close();
            view.charge.close();
            open.splice(open.indexOf(view), 1);
          } else if (view.uses.length > 0) {
            const [who] = view.uses.splice(each.use % view.uses.length, 1);
            if (!view.charge.leave(who as string)) {
              view.charge.close();
              open.splice(open.indexOf(view), 1);
            } else if (view.uses.length > 0) expect(view.uses).toContain(view.charge.holder);
          }
          const bytes = open.reduce((sum, { charge }) => sum + charge.bytes, 0);
          expect(budget.used).toEqual({ views: open.length, bytes });
          expect(open.length).toBeLessThanOrEqual(LIMITS.maxViews);
          expect(bytes).toBeLessThanOrEqual(LIMITS.maxViewBytes);
          for (const who of CALLERS) {
            const held = open.filter(({ charge }) => charge.holder === who);
            const sum = held.reduce((total, { charge }) => total + charge.bytes, 0);
            expect(budget.usedBy(who)).toEqual({ views: held.length, bytes: sum });
            expect(held.length).toBeLessThanOrEqual(who === ANYONE ? 4 : 2);
            expect(sum).toBeLessThanOrEqual(who === ANYONE ? 500 : 250);
          }
        }
        for (const { charge } of open) charge.close();
        expect(budget.used).toEqual({ views: 0, bytes: 0 });
        expect(budget.holders).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  test('charges an idle view to the next user, and refuses a user without room for it', () => {
    const budget = create();
    const charge = budget.open('a');
    charge.use('a');
    charge.resize(200);
    charge.leave('a');
    expect(budget.usedBy('a')).toEqual({ views: 1, bytes: 200 });
    const own = budget.open('b');
    own.resize(100);
    expect(attempt(() => charge.use('b'))).toBe(false);
    expect(attempt(() => charge.use('c'))).toBe(true);
    expect([budget.usedBy('a').bytes, budget.usedBy('c').bytes]).toEqual([0, 200]);
    charge.use('a');
    expect(charge.leave('c')).toBe(true);
    expect(charge.holder).toBe('a');
  });

  test('makes room before it refuses, among the views of the caller if its share is used up', () => {
    const searched: (string | undefined)[] = [];
    const idle: ViewCharge[] = [];
    const budget = create(((holder: string | undefined) => {
      searched.push(holder);
      const victim = idle.pop();
      victim?.close();
      return victim !== undefined;
    }) as unknown as () => boolean);
    idle.push(budget.open('a'), budget.open('a'));
    expect(attempt(() => budget.open('a'))).toBe(true);
    expect(searched).toEqual(['a']);
    budget.open('b').resize(250);
    for (const who of [ANYONE, ANYONE, ANYONE]) budget.open(who).resize(150);
    idle.length = 0;
    expect(attempt(() => budget.open('c').resize(240))).toBe(true);
    expect(attempt(() => budget.open('d').resize(100))).toBe(false);
    expect(searched.at(-1)).toBeUndefined();
  });

  test.each([
    ['caller_views', 'maxViews', 2, 0],
    ['caller_bytes', 'maxViewBytes', 1, 260],
  ])(
    'names the setting, counts the reason %s, and remarks on it for a while',
    (_, setting, views, bytes) => {
      const budget = create();
      expect(budget.remark).toBeUndefined();
      const opened = Array.from({ length: views }, () => budget.open('a'));
      const act = () => (bytes > 0 ? opened[0]?.resize(bytes) : budget.open('a'));
      expect(act).toThrow(setting);
      expect(budget.remark).toContain(setting);
      expect(Object.values(budget.refusals).reduce((a, b) => a + b)).toBe(1);
    },
  );
});
