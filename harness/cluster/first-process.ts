import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ManagedProcess,
  type ProcessOptions,
  startProcess,
  waitUntilReady,
} from '../process/managed-process.ts';
import { runCommand } from '../process/run-command.ts';
import { BOOT_ID, OWN_FOLDERS } from './node-config.ts';

/** A process on a node. */
export interface OnNode {
  /** The nsenter around it; ends with it. */
  readonly process: ManagedProcess;
  /** Sends a signal to the process itself (default SIGTERM) and waits for its end. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface BootOptions {
  readonly name: string;
  /** Path of the network namespace. */
  readonly namespace: string;
  /** The node's folder, which gets the logs. */
  readonly folder: string;
  /** See ../pod-program: what it becomes when it has mounted the node's folders. */
  readonly podProgram: string;
}

/** The first process of the namespaces of a node. All others of the node descend from it, and end with it. */
export type FirstProcess = Awaited<ReturnType<typeof bootNode>>;

/** Makes the mount and pid namespaces of a node. They end with our own process, however that ends. */
export async function bootNode(options: BootOptions) {
  const { name, namespace, folder, podProgram } = options;
  const apart = ['--mount', '--pid', '--fork', '--mount-proc', '--kill-child'];
  const script = ['sh', '-c', BOOT, 'boot', folder, podProgram];
  const unshare = startProcess({
    name,
    command: 'nsenter',
    args: [`--net=${namespace}`, '--', 'unshare', ...apart, ...script],
    logFile: join(folder, 'boot.log'),
  });
  const init = () => childOf(unshare.pid);
  // The mounts are there when the script has become the program that waits.
  await waitUntilReady(unshare, async () => commandOf(init()) === podProgram);
  const enter = () => {
    const pid = init();
    if (pid === undefined) throw new Error(`the node ${name} is off`);
    return ['--target', String(pid), '--net', '--mount', '--pid', '--'];
  };
  return {
    /** Arguments of nsenter, after which a command of this machine runs on the node. */
    enter,
    /** Runs a command on the node to its end and returns its stdout. */
    exec: async (command: string, args: readonly string[], input?: string) => {
      const stdin = input === undefined ? {} : { input };
      return await runCommand('nsenter', [...enter(), command, ...args], stdin);
    },
    /** Starts a process on the node. */
    spawn: (process: Omit<ProcessOptions, 'logFile'>) => spawnOnNode(enter(), folder, process),
    /** Ends it, and with it the node. */
    stop: async () => {
      const pid = init();
      // It has ended only when all others of its pid namespace have.
      if (pid === undefined) unshare.child.kill('SIGKILL');
      else process.kill(pid, 'SIGKILL');
      await unshare.exited;
    },
  };
}

function spawnOnNode(
  enter: readonly string[],
  folder: string,
  options: Omit<ProcessOptions, 'logFile'>,
): OnNode {
  const started = startProcess({
    ...options,
    command: 'nsenter',
    args: [...enter, options.command, ...options.args],
    logFile: join(folder, `${options.name}.log`),
  });
  return {
    process: started,
    stop: async (signal = 'SIGTERM') => {
      // nsenter passes no signal on.
      const inner = childOf(started.pid);
      if (inner !== undefined) process.kill(inner, signal);
      await started.exited;
    },
  };
}

/**
 * What the first process of a node does: it mounts the node's folders over those of this machine, and becomes the
 * program that waits and reaps. Arguments: the node's folder, that program.
 */
const BOOT = `set -e
for each in ${OWN_FOLDERS.join(' ')}; do mount --bind "$1/$each" "/$each"; done
# The kernel of this machine has one boot id for all nodes, and no other after a node has booted.
cat /proc/sys/kernel/random/uuid > /run/boot-id
mount --bind /run/boot-id ${BOOT_ID}
# kube-proxy mounts /lib/modules, and containerd would make it on this machine.
if ! [ -d /lib/modules ]; then
  mkdir -p "$1/lib" "$1/lib-work"
  mount -t overlay overlay -o "lowerdir=/usr/lib,upperdir=$1/lib,workdir=$1/lib-work" /usr/lib
  mkdir -p /usr/lib/modules
fi
exec "$2" pause`;

/** Pid of the only child of a process. */
function childOf(pid: number): number | undefined {
  try {
    const [child = ''] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
    return child === '' ? undefined : Number(child);
  } catch {
    return undefined;
  }
}

function commandOf(pid: number | undefined): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0', 1)[0];
  } catch {
    return undefined;
  }
}
