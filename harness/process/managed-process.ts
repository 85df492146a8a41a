import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { searchPath } from './search-path.ts';

/** What to start, and where its words go. */
export interface ProcessOptions {
  /** Name for messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** File that gets stderr, and stdout unless that is piped. Appended to. */
  readonly logFile: string;
  /** Environment variables on top of our own. */
  readonly env?: Readonly<Record<string, string>>;
  /** True: stdin and stdout are pipes of `child`. Default false. */
  readonly piped?: boolean;
}

/** A child process that we started and that is ended by {@link ManagedProcess.stop}. */
export interface ManagedProcess {
  readonly name: string;
  readonly pid: number;
  readonly child: ChildProcess;
  readonly logFile: string;
  /** Resolves (never rejects) when the process is gone. */
  readonly exited: Promise<void>;
  /** How it ended, such as `code 1` or `signal SIGKILL`; undefined while it runs. */
  ending(): string | undefined;
  /** All it has written so far. */
  log(): string;
  /**
   * Sends the signal (default SIGTERM), waits for the end, and kills after `graceMs` (default
   * 10,000). Does nothing when it has ended.
   */
  stop(signal?: NodeJS.Signals, graceMs?: number): Promise<void>;
}

/** Starts a process. It dies with us: the kernel kills it if this process ends without stop. */
export function startProcess(options: ProcessOptions): ManagedProcess {
  const { name, command, args, logFile, env = {}, piped = false } = options;
  const log = openSync(logFile, 'a');
  // setpriv and ip-netns replace themselves by the command, so its pid is the child's pid.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', command, ...args], {
    stdio: piped ? ['pipe', 'pipe', log] : ['ignore', log, log],
    env: { ...process.env, PATH: searchPath(), ...env },
  });
  closeSync(log);
  if (child.pid === undefined) throw new Error(`${name}: setpriv (util-linux) cannot be started`);
  let ending: string | undefined;
  const exited = new Promise<void>((done) => {
    child.once('exit', (code, signal) => {
      ending = signal === null ? `code ${code}` : `signal ${signal}`;
      done();
    });
  });
  return {
    name,
    pid: child.pid,
    child,
    logFile,
    exited,
    ending: () => ending,
    log: () => readFileSync(logFile, 'utf8'),
    stop: async (signal = 'SIGTERM', graceMs = 10_000) => {
      if (ending !== undefined) return;
      child.kill(signal);
      const killer = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await exited;
      clearTimeout(killer);
    },
  };
}

/** Calls `onLine` with each line that a piped process writes to its stdout. */
export function readLines({ name, child }: ManagedProcess, onLine: (line: string) => void): void {
  if (child.stdout === null) throw new Error(`${name} needs a pipe`);
  createInterface({ input: child.stdout }).on('line', onLine);
}

/**
 * Polls `probe` until it is true. As soon as the process has ended, or when the time is over, kills it and throws, with
 * the end of the log.
 */
export async function waitUntilReady(
  managed: ManagedProcess,
  probe: () => Promise<boolean>,
  timeoutMs = 120_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await probe())) {
    const ending = managed.ending();
    if (ending !== undefined || performance.now() > deadline) {
      await managed.stop('SIGKILL');
      const why = ending === undefined ? `not ready in ${timeoutMs} ms` : `ended (${ending})`;
      throw new Error(`${managed.name} ${why}; its log ends:\n${managed.log().slice(-4000)}`);
    }
    await sleep(50);
  }
}
