/** Values of flags by name. A flag that was not given is absent. */
export type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

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
  return typeof value === 'object' ? value : [];
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
  throw invalidChoice(name, choices, value);
}

/** The error for a value that is not in a closed set. */
export function invalidChoice(name: string, choices: readonly string[], value: string): UsageError {
  const list = choices.join(', ');
  return new UsageError(`--${name} must be one of ${list}, not ${JSON.stringify(value)}`);
}

/** The value of a flag that is a number of at least 0. */
export function numberFlag(flags: Flags, name: string, what: string, otherwise: number): number {
  const text = textFlag(flags, name);
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && Number.isFinite(value)) return value;
  throw new UsageError(`--${name} must be a number${what}, not ${JSON.stringify(text)}`);
}
