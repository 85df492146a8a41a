import { type FSWatcher, watch } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ActiveFault } from '../active-fault.ts';
import type { FaultKind, NodeTarget } from '../fault-kind.ts';
import { tearSnapshot } from '../node/tear-snapshot.ts';

/** How long a process is waited for that should write a snapshot, after its last change. */
const WRITTEN_MS = 4_000;

type When = 'while it runs' | 'as it starts' | 'as it starts cut off';

/** The disk with the last known state fails, or the process does while it writes there. */
export const diskFaults: readonly FaultKind<NodeTarget>[] = [
  ...(['while it runs', 'as it starts', 'as it starts cut off'] as const).flatMap((when) => [
    failing(
      'full',
      when,
      ({ node }) => node.disk.fill(),
      ({ node }) => node.disk.free(),
    ),
    failing(
      'read-only',
      when,
      async ({ node }) => await node.disk.setReadOnly(true),
      async ({ node }) => await node.disk.setReadOnly(false),
    ),
  ]),
  failing('snapshot torn', 'as it starts', tear, () => {}),
  failing('snapshot torn', 'as it starts cut off', tear, () => {}),
  { room: 'disk', name: 'SIGKILL as it writes a snapshot', strike: killWhileWriting },
];

type Act = (target: NodeTarget) => Promise<void> | void;

function failing(name: string, when: When, fail: Act, mend: Act): FaultKind<NodeTarget> {
  return {
    room: 'disk',
    name: when === 'while it runs' ? name : `${name}, ${when}`,
    strike: async (target) => {
      const { front, wrapper } = target;
      const refused =
        when === 'as it starts cut off' ? await front.beginTcp({ kind: 'refuse' }) : undefined;
      if (when !== 'while it runs') await wrapper.stop('SIGKILL');
      await fail(target);
      if (when !== 'while it runs') wrapper.start();
      // Time to write, or to read what was written before.
      await sleep(2_000);
      return {
        hits: () => 1,
        end: async () => {
          await mend(target);
          await refused?.end();
        },
      };
    },
  };
}

function tear({ wrapper, random }: NodeTarget): void {
  tearSnapshot(wrapper.stateDir, random);
}

/** The name of an unfinished file is the sign; the kill then comes before, in or after the rename. */
function killWhileWriting({ wrapper }: NodeTarget): ActiveFault {
  let isWritten = false;
  let follower: FSWatcher | undefined;
  const seen = new Promise<void>((resolve) => {
    follower = watch(wrapper.stateDir, (_, name) => {
      if (name?.endsWith('.tmp') !== true) return;
      wrapper.signal('SIGKILL');
      isWritten = true;
      resolve();
    });
  });
  return {
    hits: () => (isWritten ? 1 : 0),
    end: async () => {
      await Promise.race([seen, sleep(WRITTEN_MS)]);
      follower?.close();
      await wrapper.stop('SIGKILL');
      wrapper.start();
    },
  };
}
