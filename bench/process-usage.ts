import { readFileSync } from 'node:fs';

/** Clock ticks of /proc in a second; 100 on every Linux that Node runs on. */
const TICKS = 100;

/** What a running process uses. */
export interface ProcessUsage {
  /** Resident memory, in MB (10⁶ bytes). */
  memory(): { readonly now: number; readonly peak: number };
  /** CPU time that it and the programs that it ran to their end have used, in seconds. */
  cpu(): number;
}

/** Reads /proc at each call, which throws once the process has ended. */
export function createProcessUsage(pid: number): ProcessUsage {
  const read = (file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8');
  return {
    memory: () => {
      const status = read('status');
      return { now: megabytes(status, 'VmRSS'), peak: megabytes(status, 'VmHWM') };
    },
    cpu: () => cpuSeconds(read('stat')),
  };
}

/** Of the text of /proc/<pid>/stat. */
export function cpuSeconds(stat: string): number {
  // The name in parentheses may hold spaces; utime, stime and those of ended children are the 14th to
  // 17th of all fields.
  const fields = stat.replace(/^.*\) /, '').split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS;
}

function megabytes(status: string, field: string): number {
  return (Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024) / 1e6;
}
