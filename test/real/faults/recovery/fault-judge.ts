import { BOUNDS, GIVE_UP_MS, type Problem } from '../bounds.ts';
import type { HistoryTarget } from '../fault-kind.ts';
import type { PlannedFault } from '../fault-plan.ts';
import { type FaultJudge, untilRight } from '../fault-run.ts';
import type { startKeptClients } from './kept-clients.ts';
import { judgeReadiness, watchReadiness } from './readiness-watch.ts';
import { judgeTraffic } from './traffic-judge.ts';

/** The parts of a stage, which its judges look at. */
export interface StageParts
  extends Pick<HistoryTarget, 'history' | 'front' | 'relays' | 'wrapper'> {
  readonly clients: ReturnType<typeof startKeptClients>;
}

/** Judges what the kept clients see, what the fault costs, and what /readyz says, from its begin to the recovery. */
export function judgeFault(stage: StageParts, fault: PlannedFault<HistoryTarget>): FaultJudge {
  const { wrapper, clients, front } = stage;
  const { kinds } = fault;
  const problems: Problem[] = [];
  clients.reportTo(problems);
  clients.judge.mayGoBack = kinds.some((kind) => kind.mayGoBack === true);
  clients.judge.mayMatchSelfOnly = kinds.some(({ room }) => room === 'status');
  const before = wrapper.usage();
  const struckAt = performance.now();
  const { protocol } = front;
  let readiness: ReturnType<typeof watchReadiness> | undefined;
  let endedAt = 0;
  return {
    struck: () => {
      readiness = watchReadiness(wrapper);
    },
    changed: async () => {
      const bound = Math.max(...kinds.map(({ bypassMs }) => bypassMs ?? Number.POSITIVE_INFINITY));
      if (bound > GIVE_UP_MS || (await untilRight(clients, bound)) !== undefined) return [];
      const what = `not right ${bound} ms after a change: ${clients.differences()}`;
      return [{ check: 'rightAgain', what }];
    },
    ended: () => {
      endedAt = performance.now();
      readiness?.faultEnded();
    },
    recovered: async (rightAgainMs) => {
      if (!(await wrapper.isReady(BOUNDS.readyAgainMs))) {
        const what = `not ready ${BOUNDS.readyAgainMs} ms after the view was right`;
        problems.push({ check: 'readyz', what });
      }
      // What a process writes and asks for at its start belongs to the fault in which it started.
      if (!(await wrapper.hasListed(BOUNDS.rightAgainHardMs))) {
        const what = `the state from disk ${BOUNDS.rightAgainHardMs} ms after the view was right`;
        problems.push({ check: 'rightAgain', what });
      }
      const unreadyAt = readiness?.end();
      problems.push(...judgeReadiness(fault, { struckAt, endedAt, unreadyAt, protocol }));
      problems.push(...judgeTraffic(stage, { fault, struckAt, before }));
      if (rightAgainMs === undefined) {
        const what = `not right after ${GIVE_UP_MS} ms: ${clients.differences()}`;
        problems.push({ check: 'rightAgain', what });
        // It stays wrong; started anew, so that the run can go on.
        await wrapper.stop('SIGKILL');
        wrapper.start();
        await untilRight(clients, 30_000);
      } else if (rightAgainMs > BOUNDS.rightAgainHardMs) {
        problems.push({ check: 'rightAgain', what: `right after ${rightAgainMs} ms` });
      }
      clients.settle();
      return problems;
    },
  };
}
