import type { Program } from '../command-line/command.ts';
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
 *   all.ts, remote.ts    kube-proxy-wrapper and kubectl-kpw, with their commands
 *   flags.ts             flags that several commands have
 */

/** kube-proxy-wrapper. The commands are in the order of --help. */
export const KUBE_PROXY_WRAPPER: Program = {
  name: 'kube-proxy-wrapper',
  title: "shows kube-proxy the endpoints that each Service's topology policy selects",
  commands: [run, relay, status, explain, simulate, demo, version],
  removed: {
    check:
      '`status` shows whether kube-proxy uses the wrapper and has written its rules; to compare the kernel with `explain SERVICE`, see "What the kernel has" in docs/operations-node.md',
  },
};
