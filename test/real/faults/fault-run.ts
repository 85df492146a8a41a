import { setTimeout as sleep } from 'node:timers/promises';
import { poll } from '../../../harness/poll.ts';
import { createRandom, type Random } from '../../../harness/random.ts';
import type { ActiveFault } from './active-fault.ts';
import { GIVE_UP_MS, type Problem } from './bounds.ts';
import { type FaultTarget, nameOf } from './fault-kind.ts';
import type { HistoryPlan, PlannedFault } from './fault-plan.ts';
import type { FaultOutcome, FaultReport } from './fault-report.ts';

/** What faults are injected into, and what judges how it takes them. */
export interface FaultStage<Target extends FaultTarget> {
  /** What the next fault acts on. */
  target(random: Random): Target | Promise<Target>;
  /** Makes a change of each input. */
  changeAll(random: Random): Promise<void>;
  /** How the clients differ from what they must have; empty: not at all. */
  differences(): string | Promise<string>;
  /** Judges a fault that is about to begin. */
  judge(fault: PlannedFault<Target>): FaultJudge;
  stop(): Promise<void>;
}

/** Judges one fault, from its begin to the recovery. */
export interface FaultJudge {
  /** The fault has begun. */
  struck(): void;
  /** All changes are made, and the fault still lasts. */
  changed(): Promise<readonly Problem[]>;
  /** The API server answers again. */
  ended(): void | Promise<void>;
  /** @param rightAgainMs since `ended`; undefined: the clients are not right within {@link GIVE_UP_MS} */
  recovered(rightAgainMs: number | undefined): Promise<readonly Problem[]>;
}

/** At most so many changes in one fault, so that the allowed combinations can be tried. */
const MOST_CHANGES = 8;
/** How much longer than planned a fault lasts at most that has not harmed anything yet; else it does not count. */
const HIT_MS = 10_000;
/** Changes that wait for the API server longer than this go on while it is back. */
const CHANGE_MS = 1_500;

/**
 * One fault after the other, with changes all the time. Ends after the last one, or when the time is over and at least
 * so many have harmed something.
 */
export async function runFaults<Target extends FaultTarget>(
  stage: FaultStage<Target>,
  plan: HistoryPlan<Target>,
  report: FaultReport,
  { until, least = 0 }: { readonly until: number; readonly least?: number },
): Promise<void> {
  for (const fault of plan.faults) {
    if (performance.now() > until && report.summary.faults >= least) break;
    try {
      report.add(plan.number, await surviveFault(stage, fault));
    } catch (error) {
      // What the other histories find is not lost.
      report.breakOff(plan.number, fault.kinds.map(nameOf).join(' + '), error);
      break;
    }
  }
}

async function surviveFault<Target extends FaultTarget>(
  stage: FaultStage<Target>,
  fault: PlannedFault<Target>,
): Promise<FaultOutcome> {
  const random = createRandom(fault.seed);
  const target = await stage.target(random);
  const judge = stage.judge(fault);
  const active: ActiveFault[] = [];
  for (const kind of fault.kinds) active.push(await kind.strike(target));
  judge.struck();
  const ms = fault.seconds * 1000;
  const changes = changeFor(stage, target, ms);
  // Awaited below, and may be too late there.
  changes.catch(() => {});
  await Promise.race([changes, sleep(ms + CHANGE_MS)]);
  for (const { hits } of active) {
    const wait = poll(hits, (count) => count > 0, { timeoutMs: HIT_MS });
    await wait.catch(() => {});
  }
  const problems = [...(await judge.changed())];
  for (const { end, problems: found } of active.reverse()) {
    await end();
    problems.push(...(found?.() ?? []));
  }
  const endedAt = performance.now();
  await judge.ended();
  await changes;
  const rightAgainMs = await untilRight(stage, GIVE_UP_MS, endedAt);
  problems.push(...(await judge.recovered(rightAgainMs)));
  await sleep(random.below(1_500));
  const hits = active.reduce((sum, each) => sum + each.hits(), 0);
  return { fault, hits, rightAgainMs, problems };
}

async function changeFor(
  stage: Pick<FaultStage<never>, 'changeAll'>,
  { history, random }: FaultTarget,
  ms: number,
): Promise<void> {
  const until = performance.now() + ms;
  const wanted = Math.min(MOST_CHANGES, 1 + random.below(2 + Math.ceil(ms / 1000)));
  for (let index = 0; index < wanted; index++) {
    const gap = (ms / wanted) * (0.3 + random.below(100) / 100);
    await sleep(Math.max(0, Math.min(gap, until - performance.now())));
    await history.step(random);
  }
  await sleep(Math.max(0, until - performance.now()));
  await stage.changeAll(random);
}

/** Waits until the clients are right. Resolves with the milliseconds since a moment; undefined: not in this time. */
export async function untilRight(
  { differences }: Pick<FaultStage<never>, 'differences'>,
  timeoutMs: number,
  since = performance.now(),
): Promise<number | undefined> {
  const right = poll(differences, (found) => found === '', { timeoutMs, intervalMs: 10 });
  return await right.then(
    () => Math.round(performance.now() - since),
    () => undefined,
  );
}
