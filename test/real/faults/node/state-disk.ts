import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { persist } from '../../../../harness/history/persist.ts';
import {
  type ManagedProcess,
  startProcess,
  waitUntilReady,
} from '../../../../harness/process/managed-process.ts';
import { runCommand } from '../../../../harness/process/run-command.ts';

/** A small file system for the snapshots, in a mount namespace of its own, that can fail as disks do. */
export type StateDisk = Awaited<ReturnType<typeof startStateDisk>>;

const BYTES = 2 * 1024 * 1024;

/** @param parent folder in which it is mounted; nothing is mounted for anybody else */
export async function startStateDisk(parent: string) {
  const folder = join(parent, 'state');
  mkdirSync(folder);
  const holder = await startHolder(parent, folder);
  const seenFrom = `/proc/${holder.pid}/root${folder}`;
  const filler = join(seenFrom, 'filler');
  const runBy = ['nsenter', `--mount=/proc/${holder.pid}/ns/mnt`, '--'];
  return {
    /** Its folder, for processes that are run by `runBy`. */
    folder,
    /** The same folder, for everybody else. */
    seenFrom,
    /** What a process is run by to see it. */
    runBy,
    /** Takes all the room that is left, until it is freed. */
    fill: () => fill(filler),
    free: () => rmSync(filler, { force: true }),
    setReadOnly: async (readOnly: boolean) => {
      const [command = '', ...args] = [
        ...runBy,
        'mount',
        '-o',
        `remount,${readOnly ? 'ro' : 'rw'}`,
      ];
      // Busy while a file is being written.
      await persist(async () => void (await runCommand(command, [...args, folder])));
    },
    stop: async () => await holder.stop('SIGKILL'),
  };
}

/** The namespace, and what is mounted there, lives as long as this process. */
async function startHolder(parent: string, folder: string): Promise<ManagedProcess> {
  const script = `mount -t tmpfs -o size=${BYTES},mode=700 kpw-state "$0" && touch "$0/mounted" && exec sleep infinity`;
  const holder = startProcess({
    name: 'state disk',
    command: 'unshare',
    args: ['--mount', '--propagation', 'private', 'sh', '-c', script, folder],
    logFile: join(parent, 'state-disk.log'),
  });
  const mounted = `/proc/${holder.pid}/root${folder}/mounted`;
  await waitUntilReady(holder, async () => existsSync(mounted));
  rmSync(mounted);
  return holder;
}

function fill(path: string): void {
  const file = openSync(path, 'a');
  try {
    for (const size of [65_536, 4_096, 1]) {
      const block = Buffer.alloc(size);
      try {
        for (;;) writeSync(file, block);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    }
  } finally {
    closeSync(file);
  }
}
