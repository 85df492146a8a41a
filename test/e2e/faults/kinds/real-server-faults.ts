import { setTimeout as sleep } from 'node:timers/promises';
import type { ActiveFault, FaultKind, FaultTarget, HistoryTarget } from '../fault-kind.ts';
import type { RealBackend } from '../real-backend.ts';

const KIND = { room: 'server', needs: 'real' } as const;

function realOf({ backend }: FaultTarget): RealBackend {
  return backend as RealBackend;
}

/** Connections are refused until the API server listens; it may not be ready then. */
async function stopped(
  target: FaultTarget,
  stop: (real: RealBackend) => Promise<void>,
  start: (real: RealBackend) => Promise<void>,
): Promise<ActiveFault> {
  const real = realOf(target);
  const refused = await target.front.beginTcp({ kind: 'refuse' });
  await stop(real);
  return {
    hits: refused.hits,
    end: async () => {
      const started = start(real);
      const listening = real.listens().then(async () => await refused.end());
      await Promise.all([started, listening]);
    },
  };
}

function restarted(signal: 'SIGTERM' | 'SIGKILL'): FaultKind {
  return {
    ...KIND,
    name: `kube-apiserver ${signal} and a new start`,
    seconds: [0.1, 12],
    strike: async (target) =>
      await stopped(
        target,
        async ({ plane }) => await plane.apiServer.stop(signal),
        async ({ plane }) => await plane.apiServer.start(),
      ),
  };
}

/** More than an API server writes of its own while it starts; where it passes all versions, nobody can tell. */
const LOST = 80;

function restored(name: string, writes: number): FaultKind<HistoryTarget> {
  return {
    ...KIND,
    name,
    seconds: [0.1, 6],
    strike: async (target) => {
      const { cluster, random } = target;
      const state = cluster.timeline.state;
      realOf(target).backUp();
      for (let lost = 0; lost < LOST; lost++) await cluster.change(random);
      await sleep(200);
      // What is made while etcd is away would be written after the restore, and belong to both histories.
      const release = cluster.hold();
      return await stopped(
        target,
        async (real) => await real.stopServers('SIGKILL'),
        async (real) => {
          // The API server answers before its start is complete.
          cluster.timeline.restore(state);
          await real.start(true);
          release();
          for (let write = 0; write < writes; write++) await cluster.change(random);
        },
      );
    },
  };
}

/** A process that stands still. Packets to it are held too, because the front would answer PINGs in its place. */
function frozen(
  name: string,
  signal: (real: RealBackend, signal: 'SIGSTOP' | 'SIGCONT') => void,
  isSilent: boolean,
): FaultKind {
  return {
    ...KIND,
    name,
    seconds: [0.1, 25],
    strike: async (target) => {
      const real = realOf(target);
      const held = isSilent
        ? await target.front.beginTcp({ kind: 'hold', directions: ['toServer', 'toClient'] })
        : undefined;
      const before = target.front.open.size;
      signal(real, 'SIGSTOP');
      return {
        // All of them are blind now.
        hits: () => before,
        end: async () => {
          signal(real, 'SIGCONT');
          await held?.end();
        },
      };
    },
  };
}

/** What only a real etcd and kube-apiserver do: their own answers while they start, and their own watch cache. */
export const realServerFaults: readonly FaultKind[] = [
  restarted('SIGTERM'),
  restarted('SIGKILL'),
  frozen('kube-apiserver frozen', ({ plane }, signal) => plane.apiServer.signal(signal), true),
  frozen('etcd frozen', ({ plane }, signal) => plane.etcd.signal(signal), false),
  {
    ...KIND,
    name: 'etcd SIGKILL and a new start',
    seconds: [0.1, 12],
    strike: async (target) => {
      const { plane } = realOf(target);
      const before = target.front.open.size;
      await plane.etcd.stop('SIGKILL');
      return { hits: () => before, end: async () => await plane.etcd.start() };
    },
  },
];

/** The same, with a history that knows which writes are lost. */
export const realRestoreFaults: readonly FaultKind<HistoryTarget>[] = [
  restored('real etcd restored from an older copy', 0),
  restored('real etcd restored from an older copy, and partly overtaken', 15),
];
