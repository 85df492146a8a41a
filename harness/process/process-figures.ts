import { readFileSync } from 'node:fs';

/** Ticks of utime and stime (proc(5)) in a second: USER_HZ is 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** The largest resident size that a process has ever had, in MB (VmHWM of proc(5)). */
export function peakMegabytes(pid: number): number {
  const [, kilobytes] =
    /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  if (kilobytes === undefined) throw new Error(`process ${pid} has no VmHWM; it has ended`);
  return Math.round(Number(kilobytes) / 1024);
}

/** Seconds of a core that a process has used so far. */
export function cpuSeconds(pid: number): number {
  // The name in brackets may contain spaces; state is the first field after it.
  const [, rest = ''] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
  const fields = rest.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
