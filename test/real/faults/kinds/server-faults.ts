import { setTimeout as sleep } from 'node:timers/promises';
import type { ActiveFault } from '../active-fault.ts';
import type { FaultKind, HistoryTarget } from '../fault-kind.ts';
import { answerStatus, happened } from './acts.ts';

/**
 * Whether the new history passes the version of some queries, but not of all, before the wrapper can reach it. Where it
 * passes that of all, nobody can tell.
 */
type Overtaken = 'not overtaken' | 'overtaken';
const LOST = 30;

/** The API server is unreachable, and is another one when it is back. */
async function away(
  { front }: HistoryTarget,
  back: () => Promise<void>,
  forbiddenMs = 0,
): Promise<ActiveFault> {
  const refused = await front.beginTcp({ kind: 'refuse' });
  return {
    hits: refused.hits,
    end: async () => {
      await back();
      const forbidden = front.beginHttp({
        takes: () => forbiddenMs > 0,
        answer: (each) => answerStatus(each, 403, 'Forbidden'),
      });
      await refused.end();
      await sleep(forbiddenMs);
      forbidden.end();
    },
  };
}

/** A restart: an empty watch cache, and for a while no rights. */
function restarted(name: string, forbiddenMs: number): FaultKind<HistoryTarget> {
  return {
    room: 'server',
    name,
    seconds: [1.5, 15],
    unreachable: 'failing',
    strike: async (target) =>
      await away(target, async () => target.memory.api.compact(), forbiddenMs),
  };
}

/** etcd is restored from a copy, with more or with fewer new writes than were lost. */
function restored(name: string, overtaken: Overtaken): FaultKind<HistoryTarget> {
  return {
    room: 'server',
    name,
    strike: async (target) => {
      const { history, memory, random } = target;
      const backup = memory.backUp();
      const { state } = history.timeline;
      // These are seen, and then lost.
      for (let lost = 0; lost < LOST; lost++) await history.step(random);
      await sleep(150);
      return await away(target, async () => {
        await memory.replace(backup);
        history.timeline.restore(state);
        const writes = overtaken === 'overtaken' ? LOST / 2 : 1;
        for (let write = 0; write < writes; write++) await history.step(random);
      });
    },
  };
}

/** What happens to the API server and its etcd as a whole. */
export const serverFaults: readonly FaultKind<HistoryTarget>[] = [
  restarted('restarted, with an empty watch cache', 0),
  restarted('restarted, 403 for a second, empty watch cache', 1_000),
  restored('etcd restored from an older copy', 'not overtaken'),
  restored('etcd restored from an older copy, and half overtaken', 'overtaken'),
  {
    room: 'server',
    name: 'etcd emptied, all written again',
    strike: async (target) => {
      const { history, memory } = target;
      return await away(target, async () => {
        await memory.replace(undefined);
        const { timeline } = history;
        const state = timeline.state;
        timeline.restore({ ...state, nodes: new Map(), services: new Map(), slices: new Map() });
        timeline.restore(state);
        await history.writeAll();
      });
    },
  },
  {
    room: 'server',
    name: 'compacted, and all watches cut',
    seconds: [0.1, 3],
    strike: async (target) => {
      for (let write = 0; write < 3; write++) await target.history.step(target.random);
      target.memory.api.compact();
      return happened(target.front.cut());
    },
  },
  {
    room: 'server',
    name: 'another server that lags',
    strike: async (target) => {
      const { memory } = target;
      const lagging = await memory.startLagging(memory.backUp());
      for (let write = 0; write < 3; write++) await target.history.step(target.random);
      await sleep(150);
      // Without a version an API server lists what etcd has, however late its own cache is.
      target.front.redirect(lagging, ({ searchParams }) => searchParams.has('resourceVersion'));
      const hits = target.front.cut();
      return {
        hits: () => hits,
        end: async () => {
          memory.catchUp();
          target.front.redirect(undefined);
          target.front.cut();
        },
      };
    },
  },
  {
    room: 'server',
    name: 'watches frozen, lists answered',
    strike: ({ memory }) => {
      const { api } = memory;
      const hits = api.openWatches().length;
      const thaw = api.freezeWatches();
      return { hits: () => hits, end: async () => thaw() };
    },
  },
];
