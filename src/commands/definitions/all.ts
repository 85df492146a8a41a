import type { Command } from '../command-line/command.ts';
import { check } from './check.ts';
import { demo } from './demo.ts';
import { explain } from './explain.ts';
import { run } from './run.ts';
import { simulate } from './simulate.ts';
import { status } from './status.ts';
import { version } from './version.ts';

/** The commands of kube-proxy-wrapper, in the order of --help. */
export const COMMANDS: readonly Command[] = [run, status, explain, check, simulate, demo, version];
