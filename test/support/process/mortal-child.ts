import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Waits beside the program for the end of a pipe, whose other end only we have, and then kills the process group. It
 * is not a child of the program, and does not keep its stdout open.
 */
const SCRIPT =
  '( { read -r _ <&3; kill -KILL 0; } & ) > /dev/null 2>&1 < /dev/null; exec "$0" "$@" 3<&-';

/**
 * Starts a program that is killed with its children when this process ends, even by SIGKILL. It has its own process
 * group, and our stderr. It needs only a shell; the end-to-end tests use setpriv.
 */
export function spawnMortal(
  command: string,
  args: readonly string[],
  options: { readonly stdout: 'pipe' | 'inherit'; readonly env?: NodeJS.ProcessEnv },
): ChildProcess {
  const { stdout, env = process.env } = options;
  const child: ChildProcess = spawn('sh', ['-c', SCRIPT, command, ...args], {
    env,
    stdio: ['ignore', stdout, 'inherit', 'pipe'],
    detached: true,
  });
  // Ends the shell that waits, and the children that the program has left. `close` is emitted only then.
  child.once('exit', () => child.stdio[3]?.destroy());
  return child;
}
