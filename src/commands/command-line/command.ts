import type { AdminClient } from '../client/admin-client.ts';
import type { Report } from '../output/report.ts';
import type { Flags } from './flags.ts';

/** Exit codes. They mean the same for all commands. */
export const EXIT = { ok: 0, failed: 1, usage: 2, findings: 3 } as const;

/** A flag of a command. */
export interface Flag {
  readonly name: string;
  /** One letter. */
  readonly short?: string;
  /** Placeholder of its value in --help, such as FILE. Absent: the flag has no value. */
  readonly value?: string;
  /** Whether it can be given several times. */
  readonly multiple?: boolean;
  /** Valid values, if they are a closed set. */
  readonly choices?: readonly string[];
  /** A sentence for --help. */
  readonly help: string;
}

/** What a command does with one command line. */
export interface Call {
  readonly flags: Flags;
  readonly args: readonly string[];
  readonly session: Session;
}

/** How commands reach wrappers and print. The two programs of this package differ in this. */
export interface Session {
  /** How the user calls this program: `kube-proxy-wrapper` or `kubectl kpw`. */
  readonly program: string;
  readonly commands: readonly Command[];
  /** Connects to the admin port of the wrapper that the flags name. The caller closes it. */
  openAdmin(flags: Flags): Promise<AdminClient>;
  /** Prints a report on standard output, in the format of -o. */
  print(report: Report, flags: Flags): Promise<void>;
}

/**
 * A command of the program. Commander parses and prints --help by this.
 */
export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** First lines of `--help`. */
  readonly description: string;
  /** Arguments and remark of each form, e.g. `NAMESPACE/SERVICE [flags]` and `one Service`. */
  readonly usage: readonly (readonly [args: string, remark?: string])[];
  readonly flags: readonly Flag[];
  /** What follows the flags in `--help`. */
  readonly notes?: string;
  /** Whole lines. */
  readonly examples: readonly string[];
  /** Meaning of each exit code; absent: the command does not use it. */
  readonly exits: Partial<Record<0 | 1 | 2 | 3, string>>;
  /** Maximum number of arguments besides flags; default 0. */
  readonly maxArguments?: number;
  /** Runs the command and returns the exit code. An error is printed in one line, with exit code 1. */
  execute(call: Call): Promise<number>;
}
