import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Clock ticks of /proc in a second; 100 on every Linux that Node runs on. */
const TICKS = 100;

/** What a running process uses. */
export interface ProcessUsage {
  /** Resident memory, in MB (10⁶ bytes). */
  memory(): { readonly now: number; readonly peak: number };
  /** The peak is that from now on. */
  forgetPeak(): void;
  /** CPU time that it and the programs that it runs have used, in seconds. */
  cpu(): number;
}

/** Reads /proc at each call, which throws once the process has ended. */
export function createProcessUsage(pid: number): ProcessUsage {
  return {
    memory: () => {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      return { now: megabytes(status, 'VmRSS'), peak: megabytes(status, 'VmHWM') };
    },
    // proc(5): 5 resets VmHWM.
    forgetPeak: () => writeFileSync(`/proc/${pid}/clear_refs`, '5'),
    cpu: () => {
      const own = cpuSeconds(readFileSync(`/proc/${pid}/stat`, 'utf8'));
      return childrenOf(pid).reduce((sum, child) => sum + cpuOfChild(child), own);
    },
  };
}

/** From the text of /proc/<pid>/stat, including its children that have ended. */
export function cpuSeconds(stat: string): number {
  // The name in parentheses may hold spaces; utime, stime and those of ended children are the 14th to
  // 17th of all fields.
  const fields = stat.replace(/^.*\) /, '').split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS;
}

/** Those that run: what they have used counts for their parent only when they have ended. */
function childrenOf(pid: number): string[] {
  const threads = readdirSync(`/proc/${pid}/task`);
  const lists = threads.map((thread) => readIfThere(`/proc/${pid}/task/${thread}/children`));
  return lists.flatMap((list) => list.split(' ').filter((child) => child !== ''));
}

function cpuOfChild(pid: string): number {
  const stat = readIfThere(`/proc/${pid}/stat`);
  return stat === '' ? 0 : cpuSeconds(stat);
}

/** Empty for a process or thread that has ended meanwhile. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function megabytes(status: string, field: string): number {
  return (Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024) / 1e6;
}
