import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom, type Random } from '../../../../harness/random.ts';
import type { ActiveFault } from '../active-fault.ts';
import { BOUNDS, type Problem } from '../bounds.ts';
import { waitForHit } from '../wait-for-hit.ts';
import type { PlannedFault } from './fault-plan.ts';
import { type HistoryScene, settle } from './history-scene.ts';
import { judgeReadiness, watchReadiness } from './readiness-watch.ts';
import { judgeTraffic } from './traffic-judge.ts';
import { differences } from './view-difference.ts';

/** What became of one fault. */
export interface FaultOutcome {
  readonly fault: PlannedFault;
  readonly hits: number;
  /** From the moment when the API server answered again; undefined: not within {@link GIVE_UP_MS}. */
  readonly rightAgainMs: number | undefined;
  readonly problems: readonly Problem[];
}

/** A view that is still wrong after this stays wrong; the wrapper is then started anew, so that the run can go on. */
const GIVE_UP_MS = 150_000;
/** At most so many changes in one fault, so that the allowed combinations can be tried. */
const MOST_CHANGES = 8;

/** One fault after the other, with changes all the time, on one wrapper and its kept clients. */
export async function surviveFault(
  scene: HistoryScene,
  fault: PlannedFault,
): Promise<FaultOutcome> {
  const random = createRandom(fault.seed);
  const problems: Problem[] = [];
  const { wrapper, history, judge } = scene;
  scene.report = (problem) => problems.push(problem);
  judge.mayGoBack = fault.kinds.some((kind) => kind.mayGoBack === true);
  judge.mayMatchSelfOnly = fault.kinds.some(({ room }) => room === 'status');
  const before = wrapper.usage();
  const struckAt = performance.now();
  const protocol = scene.front.isHttp2 ? 'h2' : 'http/1.1';
  const active: ActiveFault[] = [];
  for (const kind of fault.kinds) active.push(await kind.strike({ ...scene, random }));
  const readiness = watchReadiness(wrapper);
  await changeFor(scene, random, fault.seconds * 1000);
  await history.changeAll(random);
  for (const each of active) await waitForHit(each);
  const bypassMs = Math.max(
    ...fault.kinds.map((kind) => kind.bypassMs ?? Number.POSITIVE_INFINITY),
  );
  if (bypassMs < GIVE_UP_MS && !(await isRightBy(scene, performance.now() + bypassMs))) {
    const what = `not right ${bypassMs} ms after a change: ${differences(scene)}`;
    problems.push({ check: 'rightAgain', what });
  }
  for (const each of active.reverse()) {
    await each.end();
    problems.push(...(each.problems?.() ?? []));
  }
  const endedAt = performance.now();
  readiness.faultEnded();
  const rightAgainMs = await waitUntilRight(scene, endedAt);
  const readyAgain = await waitUntilReady(scene);
  if (!readyAgain) {
    const what = `not ready ${BOUNDS.readyAgainMs} ms after the view was right`;
    problems.push({ check: 'readyz', what });
  }
  const unreadyAt = readiness.end();
  problems.push(...judgeReadiness(fault, { struckAt, endedAt, unreadyAt, protocol }));
  problems.push(...judgeTraffic(scene, { fault, struckAt, before }));
  if (rightAgainMs === undefined || rightAgainMs > BOUNDS.rightAgainHardMs) {
    const wrong = rightAgainMs === undefined ? `; still wrong: ${differences(scene)}` : '';
    const what = `right after ${rightAgainMs ?? `more than ${GIVE_UP_MS}`} ms${wrong}`;
    problems.push({ check: 'rightAgain', what });
  }
  if (rightAgainMs === undefined) await startAnew(scene);
  settle(scene);
  await sleep(random.below(1_500));
  return {
    fault,
    hits: active.reduce((sum, each) => sum + each.hits(), 0),
    rightAgainMs,
    problems,
  };
}

async function changeFor(scene: HistoryScene, random: Random, ms: number): Promise<void> {
  const until = performance.now() + ms;
  const wanted = Math.min(MOST_CHANGES, 1 + random.below(2 + Math.ceil(ms / 1000)));
  for (let index = 0; index < wanted; index++) {
    const gap = (ms / wanted) * (0.3 + random.below(100) / 100);
    await sleep(Math.max(0, Math.min(gap, until - performance.now())));
    await scene.history.step(random);
  }
  await sleep(Math.max(0, until - performance.now()));
}

async function waitUntilRight(scene: HistoryScene, from: number): Promise<number | undefined> {
  for (;;) {
    if (differences(scene) === '') return Math.round(performance.now() - from);
    if (performance.now() - from > GIVE_UP_MS) return undefined;
    await sleep(10);
  }
}

async function isRightBy(scene: HistoryScene, until: number): Promise<boolean> {
  while (differences(scene) !== '') {
    if (performance.now() > until) return false;
    await sleep(10);
  }
  return true;
}

async function waitUntilReady({ wrapper }: HistoryScene): Promise<boolean> {
  const deadline = performance.now() + BOUNDS.readyAgainMs;
  while ((await wrapper.readyz()) !== 200) {
    if (performance.now() > deadline) return false;
    await sleep(100);
  }
  return true;
}

async function startAnew(scene: HistoryScene): Promise<void> {
  const { wrapper } = scene;
  await wrapper.stop('SIGKILL');
  wrapper.start();
  const deadline = performance.now() + 30_000;
  while (differences(scene) !== '' && performance.now() < deadline) await sleep(50);
}
