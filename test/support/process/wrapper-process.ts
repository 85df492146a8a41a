import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { spawnMortal } from './mortal-child.ts';

/** The program. */
export const MAIN = new URL('../../../src/main.ts', import.meta.url).pathname;

/** A wrapper in a process of its own. */
export interface WrapperProcess {
  readonly child: ChildProcess;
  /** What it has logged so far. */
  readonly lines: Record<string, unknown>[];
  /** Resolves with the log line that has this message; rejects when the process ends without it. */
  logged(msg: string): Promise<Record<string, unknown>>;
  /** Sends SIGTERM and waits for the end; the exit code. */
  stop(): Promise<number | null>;
  /** Ends it and all that it has started at once. */
  kill(): void;
}

/** Starts `run` with these flags; `activator`: a program that is to start it, given the port first. */
export function startProcess(flags: readonly string[], activator?: string): WrapperProcess {
  const { NODE_NAME: _node, KUBECONFIG: _config, ...env } = process.env;
  const [port = '', ...rest] = flags;
  const args =
    activator === undefined
      ? [MAIN, 'run', ...flags]
      : [activator, port, process.execPath, MAIN, 'run', ...rest];
  const child = spawnMortal(process.execPath, args, { env, stdout: 'pipe' });
  const lines: Record<string, unknown>[] = [];
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const each of waiting) each();
  };
  const ended = once(child, 'close').then(([code]) => code as number | null);
  void ended.then(wake);
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(JSON.parse(line) as Record<string, unknown>);
      wake();
    });
  }
  return {
    child,
    lines,
    logged: (msg) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const line = lines.find((each) => each.msg === msg);
          if (line !== undefined) resolve(line);
          else if (child.exitCode !== null || child.signalCode !== null)
            reject(new Error(`it ended without "${msg}"`));
          else return;
          waiting.delete(look);
        };
        waiting.add(look);
        look();
      }),
    stop: async () => {
      child.kill('SIGTERM');
      return ended;
    },
    kill: () => {
      if (child.pid === undefined || child.exitCode !== null) return;
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // Gone already.
      }
    },
  };
}
