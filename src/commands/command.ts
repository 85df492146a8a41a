import type { ParseArgsOptionsConfig } from 'node:util';

/** Values of flags, by name; those that were not given are absent. */
export type Flags = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

/** Exit codes that mean the same for all commands. */
export const EXIT = { ok: 0, failed: 1, usage: 2, findings: 3 } as const;

/** A command of the program. */
export interface Command {
  /** One line for the list of commands. */
  readonly summary: string;
  /** All of `--help`: usage, flags, examples, exit codes. */
  readonly help: string;
  /** Flags as node:util's parseArgs wants them; `--help` is understood by all. */
  readonly options: ParseArgsOptionsConfig;
  /** Number of arguments beside flags that it takes, at most. */
  readonly maxArguments: number;
  /** Carries it out; returns the exit code. Throws what is told in one line, with exit code 1. */
  execute(flags: Flags, args: readonly string[]): Promise<number>;
}

/** A command line that makes no sense: told in one line, with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A flag that takes one text; undefined: not given. */
export function textFlag(flags: Flags, name: string): string | undefined {
  const value = flags[name];
  return typeof value === 'string' ? value : undefined;
}

/** A flag that may be given several times. */
export function textFlags(flags: Flags, name: string): readonly string[] {
  const value = flags[name];
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

/** A flag with a closed set of values; the first is the default. */
export function choiceFlag<T extends string>(
  flags: Flags,
  name: string,
  choices: readonly [T, ...(readonly T[])],
): T {
  const value = textFlag(flags, name);
  if (value === undefined) return choices[0];
  const choice = choices.find((each) => each === value);
  if (choice !== undefined) return choice;
  throw new UsageError(`--${name} is one of ${choices.join(', ')}, not ${JSON.stringify(value)}`);
}
