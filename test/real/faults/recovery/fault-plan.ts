import type { Random } from '../../../../harness/random.ts';
import type { FaultKind as AnyFaultKind, HistoryTarget } from '../fault-kind.ts';

type FaultKind = AnyFaultKind<HistoryTarget>;

/** One fault of a plan. */
export interface PlannedFault {
  readonly number: number;
  /** Mostly one; two of different rooms overlap. */
  readonly kinds: readonly FaultKind[];
  readonly seconds: number;
  /** For the choices within it. */
  readonly seed: number;
}

/** What the histories of a run differ in. */
export interface HistoryPlan {
  readonly number: number;
  readonly http2: boolean;
  readonly faults: readonly PlannedFault[];
}

export interface PlanOptions {
  readonly random: Random;
  readonly kinds: readonly FaultKind[];
  /** Faults of all histories together. */
  readonly faults: number;
  readonly histories: number;
  /** What the API server of all histories speaks; undefined: one in {@link ONE_IN} has no HTTP/2. */
  readonly protocol: 'h2' | 'http/1.1' | undefined;
}

/** Share of faults that come with a second one. */
const TWO = 0.12;
/** One in so many histories has an API server without HTTP/2. */
const ONE_IN = 4;

/**
 * Deals all kinds out to the histories that can have them, shuffled, again and again. The plan depends on the seed and
 * the options only, not on how long anything takes.
 */
export function planHistories(options: PlanOptions): HistoryPlan[] {
  const { random, histories, protocol } = options;
  const plans = Array.from({ length: histories }, (_, index) => ({
    number: index,
    http2: protocol === undefined ? index % ONE_IN !== ONE_IN - 1 : protocol === 'h2',
    faults: [] as PlannedFault[],
  }));
  let deck: FaultKind[] = [];
  let dealt = 0;
  const usable = options.kinds.filter((kind) => plans.some((plan) => canHave(plan, kind)));
  while (dealt < options.faults && usable.length > 0) {
    if (deck.length === 0) deck = [...usable];
    const kind = deck.splice(random.below(deck.length), 1)[0] as FaultKind;
    const able = plans.filter((plan) => canHave(plan, kind));
    const plan = able.reduce((one, other) => (load(other) < load(one) ? other : one));
    const second = random.chance(TWO) ? secondOf(random, kind, plan, usable) : undefined;
    const kinds = second === undefined ? [kind] : [kind, second];
    dealt += 1;
    plan.faults.push({
      number: dealt,
      kinds,
      seconds: secondsOf(random, kinds),
      seed: random.below(2 ** 32),
    });
  }
  return plans;
}

function canHave(plan: HistoryPlan, { needs }: FaultKind): boolean {
  if (needs === 'http2') return plan.http2;
  if (needs === 'http1') return !plan.http2;
  return true;
}

function load({ faults }: HistoryPlan): number {
  return faults.reduce((sum, { seconds }) => sum + seconds + 3, 0);
}

/** Of another room, and nothing that ends processes or replaces servers: those need the line to themselves. */
function secondOf(
  random: Random,
  first: FaultKind,
  plan: HistoryPlan,
  kinds: readonly FaultKind[],
): FaultKind | undefined {
  const alone = ['server', 'process'];
  if (alone.includes(first.room)) return undefined;
  const others = kinds.filter(
    (kind) => kind.room !== first.room && !alone.includes(kind.room) && canHave(plan, kind),
  );
  return others.length === 0 ? undefined : random.pick(others);
}

/** Mostly short; from 0.1 to 120 s. */
function secondsOf(random: Random, kinds: readonly FaultKind[]): number {
  const share = random.below(1000) / 1000;
  const within = (least: number, most: number) =>
    least * (most / least) ** (random.below(1000) / 1000);
  const chosen =
    share < 0.6
      ? within(0.1, 2)
      : share < 0.88
        ? within(2, 12)
        : share < 0.98
          ? within(12, 40)
          : within(40, 120);
  const least = Math.max(...kinds.map(({ seconds }) => seconds?.[0] ?? 0.1));
  const most = Math.min(...kinds.map(({ seconds }) => seconds?.[1] ?? 120));
  return Math.max(least, Math.min(most, chosen));
}
