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
 * Limits the time of credential plugins, because KubeConfig would wait forever, and all requests with it. A plugin that
 * takes longer is killed together with all processes that it has started.
 *
 * @param ms time limit in milliseconds
 */
export function limitPluginTime(config: KubeConfig, ms: number): void {
  const { authenticators } = config as unknown as { authenticators: readonly object[] };
  const execAuth = authenticators.find((each): each is ExecAuth => 'execFn' in each);
  if (execAuth === undefined)
    throw new Error('this version of KubeConfig runs credential plugins in another way');
  execAuth.execFn = (command, args = [], options) => {
    // A process group can be killed as one. There is no input, because nobody could type it.
    const inGroup: SpawnOptions = { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] };
    const child = spawn(command, args, inGroup);
    const timer = setTimeout(() => {
      // ExecAuth throws this error once the plugin has ended.
      child.emit(
        'error',
        Object.assign(new Error(`not finished within ${ms} ms`), { code: 'ETIMEDOUT' }),
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
    // The plugin has just ended.
  }
}
