import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ControlPlane } from '../../../../harness/api-server/control-plane.ts';
import { HOLD } from '../../../../harness/network/tcp-front.ts';
import type { FaultKind, NodeTarget } from '../fault-kind.ts';

type Part = 'apiServer' | 'etcd';

const NAMES: Readonly<Record<Part, string>> = { apiServer: 'kube-apiserver', etcd: 'etcd' };

function restarted(part: Part, signal: 'SIGTERM' | 'SIGKILL'): FaultKind<NodeTarget> {
  return {
    room: 'server',
    name: `${NAMES[part]} ${signal} and a new start`,
    strike: async ({ front, plane }) => {
      const before = front.open.size;
      await plane[part].stop(signal);
      return { hits: () => before, end: async () => await plane[part].start() };
    },
  };
}

/** A process that stands still. Packets to it are held too, because the front would answer PINGs in its place. */
function frozen(part: Part): FaultKind<NodeTarget> {
  return {
    room: 'server',
    name: `${NAMES[part]} frozen`,
    strike: async ({ front, plane }) => {
      const held = part === 'etcd' ? undefined : await front.beginTcp(HOLD);
      const before = front.open.size;
      plane[part].signal('SIGSTOP');
      return {
        // All of them are blind now.
        hits: () => before,
        end: async () => {
          plane[part].signal('SIGCONT');
          await held?.end();
        },
      };
    },
  };
}

/** More than an API server writes of its own while it starts; where it passes all versions, nobody can tell. */
const LOST = 80;

/** Copies etcd's data as after a power cut: etcd can begin from such a copy. Returns what puts it back. */
function backUp({ folder, etcd }: ControlPlane): () => void {
  const data = join(folder, 'etcd');
  const copy = join(folder, 'etcd-copy');
  const replace = (from: string, to: string) => {
    rmSync(to, { recursive: true, force: true });
    cpSync(from, to, { recursive: true });
  };
  etcd.signal('SIGSTOP');
  replace(data, copy);
  etcd.signal('SIGCONT');
  return () => replace(copy, data);
}

/** The writes since the copy are seen, and then lost. Fewer writes come after the restore. */
const restored: FaultKind<NodeTarget> = {
  room: 'server',
  name: 'etcd restored from an older copy',
  strike: async ({ front, plane, history }) => {
    const putBack = backUp(plane);
    const { state } = history.timeline;
    for (let lost = 0; lost < LOST; lost++) await history.step();
    const before = front.open.size;
    await plane.apiServer.stop('SIGKILL');
    await plane.etcd.stop('SIGKILL');
    history.timeline.restore(state);
    return {
      hits: () => before,
      end: async () => {
        putBack();
        await plane.etcd.start();
        await plane.apiServer.start();
      },
    };
  },
};

/** What a real etcd and kube-apiserver do: their own answers while they start, and their own watch cache. */
export const realServerFaults: readonly FaultKind<NodeTarget>[] = [
  restarted('apiServer', 'SIGTERM'),
  restarted('apiServer', 'SIGKILL'),
  restarted('etcd', 'SIGKILL'),
  frozen('apiServer'),
  frozen('etcd'),
  restored,
];
