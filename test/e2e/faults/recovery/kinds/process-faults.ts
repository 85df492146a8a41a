import { mkdirSync, rmSync } from 'node:fs';
import type { ActiveFault, FaultKind, FaultTarget } from '../fault-kind.ts';

type Act = (target: FaultTarget) => Promise<void> | void;

/** What the wrapper's own process goes through. `before` can make the API server unreachable. */
function processFault(
  name: string,
  act: Act,
  more: Partial<FaultKind> & { readonly undo?: Act; readonly cutOff?: boolean } = {},
): FaultKind {
  const { undo, cutOff = false, ...rest } = more;
  return {
    ...{ room: 'process', name, ...rest },
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

/**
 * Not here: a clock that jumps, since no time namespace has the clock of dates, and the machine's own is everybody's; and
 * memory that runs out, beyond lists without an end.
 */
export const processFaults: readonly FaultKind[] = [
  processFault('wrapper frozen', ({ wrapper }) => wrapper.signal('SIGSTOP'), {
    undo: ({ wrapper }) => wrapper.signal('SIGCONT'),
    seconds: [0.1, 20],
  }),
  processFault('planned restart', async ({ wrapper }) => await wrapper.replace(), {
    ...{ starts: 1, seconds: [0.1, 3] },
  }),
  {
    ...{ room: 'process', name: 'planned restart while cut off', starts: 1 },
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
    ...{ starts: 1, cutOff: true, mayGoBack: true },
  }),
  processFault('SIGKILL and a new start with an empty stateDir', killWithoutState, {
    ...{ starts: 1, seconds: [0.1, 3] },
  }),
  processFault('SIGKILL and a new start with an empty stateDir while cut off', killWithoutState, {
    ...{ starts: 1, cutOff: true },
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
];
