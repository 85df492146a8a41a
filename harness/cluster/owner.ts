import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Several test processes can each have a cluster on one machine. Each has a number, and all its names follow from that:
 * namespaces, the veth, cgroups, its folder. The file of a number says which process owns it.
 */
const numbers = Array.from({ length: 100 }, (_, index) => index);

/** Reserves a number for this process. */
export function reserveNumber(): number {
  for (const number of numbers) {
    try {
      // Fails if the file exists, so this is the lock too.
      writeFileSync(ownerFile(number), processIdentity(process.pid), { flag: 'wx' });
      return number;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  throw new Error(`no number for a cluster is left; see ${ownerFile(0)} and those beside it`);
}

export function releaseNumber(number: number): void {
  rmSync(ownerFile(number), { force: true });
}

/** Numbers whose process has ended without releasing them. */
export function abandonedNumbers(): number[] {
  const names = readdirSync(tmpdir());
  const found = names.map((name) => /^kpw-cluster-(\d+)[.]owner$/.exec(name)?.[1]);
  return found.flatMap((number) => {
    const owner = number === undefined ? '' : readOwner(Number(number));
    const [pid = ''] = owner.split(' ');
    // The file of another process that has just made it is still empty.
    return pid === '' || owner === processIdentity(Number(pid)) ? [] : [Number(number)];
  });
}

/** Folder of the files of a cluster. */
export function folderOf(number: number): string {
  return join(tmpdir(), `kpw-cluster-${number}`);
}

/** Prefix of the network namespaces and the cgroup of a cluster. */
export function prefixOf(number: number): string {
  return `kpwc${number}`;
}

/** Empty if another process has just released the number. */
function readOwner(number: number): string {
  try {
    return readFileSync(ownerFile(number), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

function ownerFile(number: number): string {
  return `${folderOf(number)}.owner`;
}

/** A pid and when that process started, because pids are used again. */
function processIdentity(pid: number): string {
  if (!existsSync(`/proc/${pid}/stat`)) return '';
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name before it, in brackets, may contain spaces. The start time is field 22.
  const startTime = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  return `${pid} ${startTime}`;
}
