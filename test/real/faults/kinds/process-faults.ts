import { mkdirSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { FOREIGN_ANSWERS } from '../../../support/http/foreign-answers.ts';
import type { ActiveFault } from '../active-fault.ts';
import type { Exchange } from '../fault-front.ts';
import type { FaultKind, FaultTarget } from '../fault-kind.ts';
import { answer, answerForeign, answerStatus } from './acts.ts';
import { listWithoutEnd } from './content-faults.ts';

type Act = (target: FaultTarget) => Promise<void> | void;

/** What the wrapper's own process goes through. `before` can make the API server unreachable. */
function processFault(
  name: string,
  act: Act,
  more: Partial<FaultKind> & { readonly undo?: Act; readonly cutOff?: boolean } = {},
): FaultKind {
  const { undo, cutOff = false, ...rest } = more;
  return {
    room: 'process',
    name,
    ...rest,
    strike: async (target): Promise<ActiveFault> => {
      const refused = cutOff ? await target.front.beginTcp({ kind: 'refuse' }) : undefined;
      await act(target);
      return {
        hits: () => 1,
        end: async () => {
          await undo?.(target);
          await refused?.end();
        },
      };
    },
  };
}

const kill: Act = async ({ wrapper }) => {
  await wrapper.stop('SIGKILL');
  wrapper.start();
};

const killWithoutState: Act = async ({ wrapper }) => {
  await wrapper.stop('SIGKILL');
  rmSync(wrapper.stateDir, { recursive: true, force: true });
  wrapper.start();
};

/** The clock of dates jumps, all connections are reset, and at the end the clock is right again. */
function clockJumps(name: string, aheadMs: number): FaultKind {
  return processFault(
    name,
    ({ wrapper, front }) => {
      wrapper.setClock(aheadMs);
      front.cut();
    },
    { undo: ({ wrapper }) => wrapper.setClock(0) },
  );
}

/**
 * No memory is left, so that the process ends in the middle of something, and is started again. A process that needs no
 * more than it has goes on.
 */
const memoryRunsOut: FaultKind = {
  room: 'process',
  name: 'no memory left',
  starts: 1,
  // The next process gets no list either, and starts from the disk.
  mayGoBack: true,
  memoryMB: listWithoutEnd.memoryMB,
  seconds: [1, 10],
  strike: async (target) => {
    const { wrapper } = target;
    await wrapper.limitMemory();
    const lists = await listWithoutEnd.strike(target);
    let ends = 0;
    const restarting = setInterval(() => {
      if (wrapper.isRunning()) return;
      ends += 1;
      wrapper.start();
    }, 200);
    return {
      hits: () => ends,
      end: async () => {
        clearInterval(restarting);
        await lists.end();
        // What is left of the limit must not end it later.
        if (wrapper.isRunning()) await wrapper.stop('SIGKILL');
        wrapper.start();
      },
    };
  },
};

/** As on a machine that swaps: the process runs for a few milliseconds at a time. */
const hardlyRuns: FaultKind = {
  room: 'process',
  name: 'wrapper runs 10 ms in 200',
  seconds: [1, 20],
  strike: ({ wrapper, front }) => {
    front.cut();
    const running = setInterval(() => {
      wrapper.signal('SIGCONT');
      setTimeout(() => wrapper.signal('SIGSTOP'), 10);
    }, 200);
    return {
      hits: () => 1,
      end: async () => {
        clearInterval(running);
        await sleep(50);
        wrapper.signal('SIGCONT');
      },
    };
  },
};

/** The process starts while something answers every request so. */
function startsBehind(name: string, respond: (exchange: Exchange) => void): FaultKind {
  return {
    room: 'process',
    name: `SIGKILL and a new start behind ${name}`,
    starts: 1,
    mayGoBack: true,
    strike: async (target) => {
      const active = answer(target, 'all', respond);
      await kill(target);
      return active;
    },
  };
}

const STATUSES = [401, 403, 404, 429, 500, 503];

const HOUR_MS = 3_600_000;
/** Clocks without a battery begin in 1970. */
const SINCE_1970_MS = Date.now();

export const processFaults: readonly FaultKind[] = [
  processFault('wrapper frozen', ({ wrapper }) => wrapper.signal('SIGSTOP'), {
    undo: ({ wrapper }) => wrapper.signal('SIGCONT'),
    seconds: [0.1, 20],
  }),
  processFault('planned restart', async ({ wrapper }) => void (await wrapper.replace()), {
    starts: 1,
    seconds: [0.1, 3],
  }),
  {
    room: 'process',
    name: 'planned restart while cut off',
    starts: 1,
    strike: async ({ front, wrapper }) => {
      const refused = await front.beginTcp({ kind: 'refuse' });
      const replaced = wrapper.replace();
      replaced.catch(() => {});
      return {
        hits: () => 1,
        end: async () => {
          await refused.end();
          await replaced;
        },
      };
    },
  },
  processFault(
    'SIGTERM and a new start',
    async ({ wrapper }) => {
      await wrapper.stop('SIGTERM');
      wrapper.start();
    },
    { starts: 1, seconds: [0.1, 3] },
  ),
  processFault('SIGKILL and a new start', kill, { starts: 1, seconds: [0.1, 3] }),
  processFault('SIGKILL and a new start while cut off', kill, {
    starts: 1,
    cutOff: true,
    mayGoBack: true,
  }),
  processFault('SIGKILL and a new start with an empty stateDir', killWithoutState, {
    starts: 1,
    seconds: [0.1, 3],
  }),
  processFault('SIGKILL and a new start with an empty stateDir while cut off', killWithoutState, {
    starts: 1,
    cutOff: true,
  }),
  processFault(
    'stateDir vanishes',
    // The wrapper may write a file into it meanwhile.
    ({ wrapper }) => rmSync(wrapper.stateDir, { recursive: true, force: true, maxRetries: 20 }),
    { undo: ({ wrapper }) => void mkdirSync(wrapper.stateDir, { recursive: true }) },
  ),
  processFault(
    'no descriptors left',
    async ({ wrapper, front }) => {
      await wrapper.limitDescriptors(0);
      front.cut();
    },
    { undo: async ({ wrapper }) => await wrapper.limitDescriptors(undefined) },
  ),
  memoryRunsOut,
  hardlyRuns,
  clockJumps('the clock jumps ahead by an hour', HOUR_MS),
  clockJumps('the clock jumps back by an hour', -HOUR_MS),
  clockJumps('the clock jumps ahead by 30 days', 30 * 24 * HOUR_MS),
  clockJumps('the clock jumps back to 1970', -SINCE_1970_MS),
  clockJumps('the clock jumps ahead by 56 years', SINCE_1970_MS),
  processFault(
    'SIGKILL and a new start in 1970, until the clock is set',
    async (target) => {
      target.wrapper.setClock(-SINCE_1970_MS);
      await kill(target);
    },
    { starts: 1, undo: ({ wrapper }) => wrapper.setClock(0) },
  ),
  ...Object.entries(FOREIGN_ANSWERS).map(([name, foreign]) =>
    startsBehind(`an answer not of an API server: ${name}`, (each) => answerForeign(each, foreign)),
  ),
  ...STATUSES.map((code) =>
    startsBehind(`a Status ${code}`, (each) => answerStatus(each, code, 'Fault')),
  ),
  processFault(
    'SIGKILL and a new start while cut off, a day back',
    async (target) => {
      target.wrapper.setClock(-24 * HOUR_MS);
      await kill(target);
    },
    {
      starts: 1,
      cutOff: true,
      mayGoBack: true,
      undo: ({ wrapper }) => wrapper.setClock(0),
    },
  ),
];
