import type { Command } from '../command-line/command.ts';
import { demo } from './demo.ts';
import { explain } from './explain.ts';
import { relay } from './relay.ts';
import { run } from './run.ts';
import { simulate } from './simulate.ts';
import { status } from './status.ts';
import { version } from './version.ts';

/*
 * The room `definitions`: the names, flags and help of the commands, one file each. A command is loaded when it is
 * executed, so that `run` needs no memory for the others.
 *   all.ts, remote.ts    the commands of kube-proxy-wrapper, and of kubectl-kpw
 *   flags.ts             flags that several commands have
 */

/** The commands of kube-proxy-wrapper, in the order of --help. */
export const COMMANDS: readonly Command[] = [run, relay, status, explain, simulate, demo, version];

/** Commands of earlier versions that are gone, and what to do instead. */
export const REMOVED_COMMANDS: Readonly<Record<string, string>> = {
  check:
    '`status` shows whether kube-proxy uses the wrapper and has written its rules; to compare the kernel with `explain SERVICE`, see "What the kernel has" in docs/operations-node.md',
};
