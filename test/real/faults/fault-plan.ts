import type { Random } from '../../../harness/random.ts';
import type { FaultKind, FaultTarget } from './fault-kind.ts';

/** One fault of a plan. */
export interface PlannedFault<Target extends FaultTarget = FaultTarget> {
  readonly number: number;
  /** Mostly one; two of different rooms overlap. */
  readonly kinds: readonly FaultKind<Target>[];
  readonly seconds: number;
  /** For the choices within it. */
  readonly seed: number;
}

/** What the histories of a run differ in. */
export interface HistoryPlan<Target extends FaultTarget = FaultTarget> {
  readonly number: number;
  readonly http2: boolean;
  readonly faults: readonly PlannedFault<Target>[];
}

export interface PlanOptions<Target extends FaultTarget> {
  readonly random: Random;
  readonly kinds: readonly FaultKind<Target>[];
  /** Kinds that come before all others, once. */
  readonly first?: readonly FaultKind<Target>[];
  /** Faults of all histories together. */
  readonly faults: number;
  readonly histories: number;
  /** What the API server of all histories speaks; undefined: one in {@link ONE_IN} has no HTTP/2. */
  readonly protocol: 'h2' | 'http/1.1' | undefined;
  /** How long a fault lasts at most, in seconds. Default: as long as its kind allows. */
  readonly mostSeconds?: number;
}

/** Share of faults that come with a second one. */
const TWO = 0.12;
/** One in so many histories has an API server without HTTP/2. */
const ONE_IN = 4;
/** Rooms whose faults end processes or replace servers: those need the line to themselves. */
const ALONE = ['server', 'process', 'disk', 'clients', 'kube-proxy'];

/**
 * Deals all kinds out to the histories that can have them, shuffled, again and again. The plan depends on the seed and
 * the options only, not on how long anything takes.
 */
export function planHistories<Target extends FaultTarget>(
  options: PlanOptions<Target>,
): HistoryPlan<Target>[] {
  const { random, histories, protocol, first = [], mostSeconds = 120 } = options;
  const plans = Array.from({ length: histories }, (_, index) => ({
    number: index,
    http2: protocol === undefined ? index % ONE_IN !== ONE_IN - 1 : protocol === 'h2',
    faults: [] as PlannedFault<Target>[],
  }));
  const deck = [...first];
  const usable = options.kinds.filter((kind) => plans.some((plan) => canHave(plan, kind)));
  for (let number = 1; number <= options.faults && usable.length > 0; number++) {
    if (deck.length === 0) deck.push(...usable);
    const kind = deck.splice(random.below(deck.length), 1)[0] as FaultKind<Target>;
    const able = plans.filter((plan) => canHave(plan, kind));
    const plan = able.reduce((one, other) => (load(other) < load(one) ? other : one));
    const others = random.chance(TWO)
      ? usable.filter((other) => canJoin(kind, other) && canHave(plan, other))
      : [];
    const kinds = others.length === 0 ? [kind] : [kind, random.pick(others)];
    const seconds = Math.min(mostSeconds, secondsOf(random, kinds));
    plan.faults.push({ number, kinds, seconds, seed: random.below(2 ** 32) });
  }
  return plans;
}

function canHave(plan: Pick<HistoryPlan, 'http2'>, { needs }: Pick<FaultKind, 'needs'>): boolean {
  if (needs === 'http2') return plan.http2;
  if (needs === 'http1') return !plan.http2;
  return true;
}

function load({ faults }: { readonly faults: readonly { readonly seconds: number }[] }): number {
  return faults.reduce((sum, { seconds }) => sum + seconds + 3, 0);
}

function canJoin(one: Pick<FaultKind, 'room'>, other: Pick<FaultKind, 'room'>): boolean {
  return one.room !== other.room && ![one, other].some(({ room }) => ALONE.includes(room));
}

/** Mostly short; from 0.1 to 120 s. */
function secondsOf(random: Random, kinds: readonly Pick<FaultKind, 'seconds'>[]): number {
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
