import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { spawnMortal } from './mortal-child.ts';

/** Path of the program. */
export const MAIN = new URL('../../../cli/main.ts', import.meta.url).pathname;

/** A wrapper in its own process. */
export type WrapperProcess = ReturnType<typeof startProcess>;

/** Starts `run` with these flags. */
export function startProcess(flags: readonly string[]) {
  const { NODE_NAME: _node, KUBECONFIG: _config, ...env } = process.env;
  const child = spawnMortal(process.execPath, [MAIN, 'run', ...flags], { env, stdout: 'pipe' });
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
    /** Its log lines so far. */
    lines,
    /** Resolves with the log line that has this message; rejects if the process ends without it. */
    logged: (msg: string) =>
      new Promise<Record<string, unknown>>((resolve, reject) => {
        const check = (): void => {
          const line = lines.find((each) => each.msg === msg);
          if (line !== undefined) resolve(line);
          else if (child.exitCode !== null || child.signalCode !== null)
            reject(new Error(`the wrapper ended without "${msg}"`));
          else return;
          waiting.delete(check);
        };
        waiting.add(check);
        check();
      }),
    /** Sends SIGTERM and waits for the end; resolves with the exit code. */
    stop: async () => {
      child.kill('SIGTERM');
      return await ended;
    },
    /** Kills it and its children immediately. */
    kill: () => {
      if (child.pid === undefined || child.exitCode !== null) return;
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It has already ended.
      }
    },
  };
}
