import type { Option } from 'commander';
import type { Report } from '../output/report.ts';

/** Exit codes. They mean the same for all commands. */
export const EXIT = { ok: 0, failed: 1, usage: 2, findings: 3 } as const;

/** A command line. */
export interface Call<Flags> {
  /** By their names in camelCase. A flag that was not given is absent, or has its default. */
  readonly flags: Flags;
  readonly args: readonly string[];
}

/** What a command found. */
export interface Result {
  /** Exit code. */
  readonly code: number;
  /** Printed on standard output, in the format of -o; absent: the command has printed. */
  readonly report?: Report;
}

/** A command of the program. Commander parses and prints --help by this. */
export interface Command<Flags = never> {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** First lines of `--help`. */
  readonly description: string;
  /** Arguments and remark of each form, e.g. `NAMESPACE/SERVICE [flags]` and `one Service`. */
  readonly usage: readonly (readonly [args: string, remark?: string])[];
  readonly flags: readonly Option[];
  /** What follows the flags in `--help`. */
  readonly notes?: string;
  /** Whole lines. */
  readonly examples: readonly string[];
  /** Meaning of each exit code but 2, a wrong command line; absent: the command does not use it. */
  readonly exits: Partial<Record<0 | 1 | 3, string>>;
  /** Whether there can be arguments besides flags. */
  readonly hasArguments?: boolean;
  /** Runs the command. An error is printed in one line, with exit code 1. */
  execute(call: Call<Flags>): Promise<Result>;
}

/** A program of this package: kube-proxy-wrapper or kubectl-kpw. */
export interface Program {
  /** How the user calls it. */
  readonly name: string;
  readonly title: string;
  readonly commands: readonly Command[];
  /** Commands of earlier versions, and what to do instead. */
  readonly removed?: Readonly<Record<string, string>>;
}
