import { type FSWatcher, watch } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../support/random.ts';
import type { FaultKind, Heal } from './fault.ts';
import type { FaultScene } from './fault-scene.ts';
import { tearSnapshot } from './tear-snapshot.ts';

/** How long a process is waited for that should write a snapshot, after its last change. */
const WRITTEN_MS = 4_000;

/** The disk with the last known state fails, or the process does while it writes there. */
export function diskFaults(): FaultKind[] {
  return [
    ...(['while it runs', 'as it starts', 'as it starts out of reach'] as const).flatMap((when) => [
      failing(`disk full ${when}`, when, async ({ node }) => {
        node.disk.fill();
        return async () => node.disk.free();
      }),
      failing(`disk read-only ${when}`, when, async ({ node }) => {
        await node.disk.setReadOnly(true);
        return async () => await node.disk.setReadOnly(false);
      }),
    ]),
    {
      name: 'wrapper SIGKILL as it writes a snapshot',
      weight: 3,
      strike: async (scene) => await killWhileWriting(scene),
    },
    {
      name: 'wrapper SIGKILL, snapshot torn',
      weight: 3,
      strike: async (scene, random) => {
        await stopAndTear(scene, random);
        return async () => {
          await scene.node.startWrapper();
          return 1;
        };
      },
    },
    {
      name: 'wrapper SIGKILL, snapshot torn, started while the API server is out of reach',
      weight: 2,
      strike: async (scene, random) => {
        await scene.node.inject('upstream', { kind: 'refuse' });
        await stopAndTear(scene, random);
        await scene.node.startWrapper();
        await sleep(2_500);
        return async () => {
          await scene.node.inject('upstream', null);
          return 1;
        };
      },
    },
  ];
}

type When = 'while it runs' | 'as it starts' | 'as it starts out of reach';

function failing(
  name: string,
  when: When,
  fail: (scene: FaultScene) => Promise<() => Promise<void>>,
): FaultKind {
  return {
    name,
    weight: 2,
    strike: async (scene) => {
      const { node } = scene;
      const isAway = when === 'as it starts out of reach';
      if (isAway) await node.inject('upstream', { kind: 'refuse' });
      if (when !== 'while it runs') await node.stopWrapper('SIGKILL');
      const mend = await fail(scene);
      if (when !== 'while it runs') await node.startWrapper();
      // Time to write, or to read what was written before.
      await sleep(2_000);
      return async () => {
        await mend();
        if (isAway) await node.inject('upstream', null);
        return 1;
      };
    },
  };
}

/** The name of an unfinished file is the sign; the kill then comes before, in or after the rename. */
async function killWhileWriting({ node }: FaultScene): Promise<Heal> {
  let follower: FSWatcher | undefined;
  const seen = new Promise<boolean>((resolve) => {
    follower = watch(node.disk.seenFrom, (_, name) => {
      if (name?.endsWith('.tmp') !== true) return;
      node.wrapper().child.kill('SIGKILL');
      resolve(true);
    });
  });
  return async () => {
    const written = await Promise.race([seen, sleep(WRITTEN_MS, false)]);
    follower?.close();
    await node.stopWrapper('SIGKILL');
    await node.startWrapper();
    return written ? 1 : 0;
  };
}

async function stopAndTear({ node }: FaultScene, random: Random): Promise<void> {
  await node.stopWrapper('SIGKILL');
  tearSnapshot(node.disk.seenFrom, random);
}
