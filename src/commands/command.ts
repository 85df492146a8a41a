import type { ParseArgsOptionsConfig } from 'node:util';

/** Values of flags by name. A flag that was not given is absent. */
export type Flags = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

/** Exit codes. They mean the same for all commands. */
export const EXIT = { ok: 0, failed: 1, usage: 2, findings: 3 } as const;

/** A command of the program. */
export interface Command {
  /** One line for the list of commands. */
  readonly summary: string;
  /** The output of `--help`: usage, flags, examples, exit codes. */
  readonly help: string;
  /** Flags for parseArgs of node:util. Every command has `--help` too. */
  readonly options: ParseArgsOptionsConfig;
  /** Maximum number of arguments besides flags. */
  readonly maxArguments: number;
  /** Valid values of the first argument, if they are a closed set. */
  readonly arguments?: readonly string[];
  /** Runs the command and returns the exit code. An error is printed in one line, with exit code 1. */
  execute(flags: Flags, args: readonly string[]): Promise<number>;
}

/** An invalid command line: printed in one line, with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The value of a flag; undefined: not given. */
export function textFlag(flags: Flags, name: string): string | undefined {
  const value = flags[name];
  return typeof value === 'string' ? value : undefined;
}

/** The values of a flag that can be given several times. */
export function textFlags(flags: Flags, name: string): readonly string[] {
  const value = flags[name];
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

/** The value of a flag with a closed set of values. The first is the default. */
export function choiceFlag<T extends string>(
  flags: Flags,
  name: string,
  choices: readonly [T, ...(readonly T[])],
): T {
  const value = textFlag(flags, name);
  if (value === undefined) return choices[0];
  const choice = choices.find((each) => each === value);
  if (choice !== undefined) return choice;
  throw new UsageError(
    `--${name} must be one of ${choices.join(', ')}, not ${JSON.stringify(value)}`,
  );
}
