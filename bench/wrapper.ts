import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { freePorts } from '../test/e2e/support/free-port.ts';
import { getStatus } from '../test/e2e/support/http-status.ts';
import { startProcess, waitUntilReady } from '../test/e2e/support/managed-process.ts';
import { runCommand } from '../test/e2e/support/run-command.ts';
import type { BenchPlane } from './plane.ts';

/** The node that the wrapper serves; the measuring client makes it. */
const NODE_NAME = 'node-0-0';

/** Clock ticks of /proc in a second; 100 on every Linux that Node runs on. */
const TICKS = 100;

/** A running wrapper. */
export interface MeasuredWrapper {
  readonly url: string;
  /** When it was started, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** Waits until /readyz answers 200; returns the milliseconds since the start. */
  ready(): Promise<number>;
  /** Resident memory, in MB (10⁶ bytes). */
  memory(): { readonly now: number; readonly peak: number };
  /** CPU time that it has used, in seconds. */
  cpu(): number;
  stop(): Promise<void>;
}

const root = resolve(import.meta.dirname, '..');

/** Compiles dist/main.js unless another program is to be measured; returns the program's path. */
export async function ensureWrapper(other: string | undefined): Promise<string> {
  if (other !== undefined) return other;
  await runCommand('npm', ['run', '--silent', 'build'], { cwd: root });
  return join(root, 'dist/main.js');
}

/** What is started, and how. */
export interface WrapperStart {
  /** Path of the program. */
  readonly program: string;
  /** Address of the API server, or of a relay to it. */
  readonly server: string;
  /** Folder for a CPU profile; undefined: none is taken. */
  readonly profile: string | undefined;
}

/** Starts the program as its users run it, at the API server of the control plane. */
export async function startMeasuredWrapper(
  plane: BenchPlane,
  { program, server, profile }: WrapperStart,
): Promise<MeasuredWrapper> {
  const [port = 0, adminPort = 0] = await freePorts(2);
  const flags = profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profile];
  const args = [...flags, program, 'run', '--kubeconfig', plane.wrapperKubeconfig(server)];
  args.push('--node-name', NODE_NAME);
  args.push('--listen', `127.0.0.1:${port}`, '--admin-listen', `127.0.0.1:${adminPort}`);
  const startedAt = now();
  const logFile = join(plane.folder, `wrapper-${port}.log`);
  const managed = startProcess({ name: 'wrapper', command: process.execPath, args, logFile });
  const readProc = (file: string) => readFileSync(`/proc/${managed.pid}/${file}`, 'utf8');
  return {
    url: `http://127.0.0.1:${port}`,
    startedAt,
    ready: async () => {
      const url = `http://127.0.0.1:${adminPort}/readyz`;
      await waitUntilReady(managed, async () => (await getStatus(url)) === 200, 60_000);
      return now() - startedAt;
    },
    memory: () => {
      const status = readProc('status');
      return { now: megabytes(status, 'VmRSS'), peak: megabytes(status, 'VmHWM') };
    },
    cpu: () => {
      // The name in parentheses may hold spaces; utime and stime are the 14th and 15th of all fields.
      const fields = readProc('stat')
        .replace(/^.*\) /, '')
        .split(' ');
      return (Number(fields[11]) + Number(fields[12])) / TICKS;
    },
    stop: async () => await managed.stop(),
  };
}

/** Milliseconds since the epoch, finer than Date.now(). */
function now(): number {
  return performance.timeOrigin + performance.now();
}

function megabytes(status: string, field: string): number {
  return (Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024) / 1e6;
}
