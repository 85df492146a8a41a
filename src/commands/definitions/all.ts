import type { Command } from '../command.ts';
import { check } from './check.ts';
import { decisions } from './decisions.ts';
import { demo } from './demo.ts';
import { diff } from './diff.ts';
import { explain } from './explain.ts';
import { run } from './run.ts';
import { simulate } from './simulate.ts';
import { status } from './status.ts';
import { version } from './version.ts';

/** The commands of kube-proxy-wrapper, in the order of --help. */
export const COMMANDS: readonly Command[] = [
  run,
  status,
  explain,
  diff,
  decisions,
  check,
  simulate,
  demo,
  version,
];
