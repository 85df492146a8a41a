import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import type { KubeConfig } from '@kubernetes/client-node';

type Spawn = (
  command: string,
  args: readonly string[] | undefined,
  options: object,
) => ChildProcess;

/** ExecAuth of @kubernetes/client-node 2.0.1, which is not exported; its types hide the field. */
interface ExecAuth {
  execFn: Spawn;
}

/**
 * Gives credential plugins a time to end in, in milliseconds; KubeConfig would wait for ever, and every request
 * with it. One that takes longer is killed, with all that it has started.
 */
export function boundPlugins(config: KubeConfig, ms: number): void {
  const { authenticators } = config as unknown as { authenticators: readonly object[] };
  const execAuth = authenticators.find((each): each is ExecAuth => 'execFn' in each);
  if (execAuth === undefined) throw new Error('KubeConfig runs credential plugins in another way');
  execAuth.execFn = (command, args = [], options) => {
    // A group of its own, to be killed as one; and nobody is there to type anything.
    const bounded: SpawnOptions = { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] };
    const child = spawn(command, args, bounded);
    const timer = setTimeout(() => {
      // ExecAuth keeps the error for when it has ended.
      child.emit(
        'error',
        Object.assign(new Error(`no end within ${ms} ms`), { code: 'ETIMEDOUT' }),
      );
      kill(child);
    }, ms);
    child.once('close', () => clearTimeout(timer));
    return child;
  };
}

function kill({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}
