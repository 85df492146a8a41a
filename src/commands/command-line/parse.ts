import { parseArgs } from 'node:util';
import { suggestion } from '../../did-you-mean.ts';
import type { Command, Flag } from '../command.ts';
import { type Flags, invalidChoice, UsageError } from '../flags.ts';

/** A parsed command line. */
export interface ParsedLine {
  readonly flags: Flags;
  readonly args: readonly string[];
  readonly help: boolean;
}

export const HELP_FLAG: Flag = { name: 'help', short: 'h', help: 'this text' };

/**
 * Parses the arguments of a command by its table of flags. parseArgs of node:util splits them; what they mean is
 * decided here, so that errors name the command and what the user probably meant. Throws UsageError.
 */
export function parseCommandLine(
  command: Command,
  args: readonly string[],
  program: string,
): ParsedLine {
  const known = [...command.flags, HELP_FLAG];
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(known.map((flag) => [flag.name, optionOf(flag)])),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const flags: Record<string, string | boolean | string[]> = {};
  const positionals: string[] = [];
  const see = `See ${program} ${command.name} --help`;
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const flag = known.find(({ name }) => name === token.name);
    if (flag === undefined) throw unknownFlag(command, token.rawName, see);
    const value = flagValue(flag, token, see);
    if (flag.multiple === true) {
      const list = flags[flag.name];
      flags[flag.name] = [...(Array.isArray(list) ? list : []), String(value)];
    } else {
      flags[flag.name] = value;
    }
  }
  const { help = false, ...rest } = flags;
  assertFewArguments(command, positionals, help === true, see);
  return { flags: rest, args: positionals, help: help === true };
}

function optionOf({ short, value, multiple = false }: Flag) {
  const type = value === undefined ? ('boolean' as const) : ('string' as const);
  return short === undefined ? { type, multiple } : { type, multiple, short };
}

function unknownFlag({ name, flags }: Command, typed: string, see: string): UsageError {
  const all = [...flags, HELP_FLAG].map((flag) => flag.name);
  const meant = typed.startsWith('--') ? suggestion(typed.slice(2), all, '--') : '';
  return new UsageError(`${name} has no flag ${typed}.${meant} ${see}`);
}

interface OptionToken {
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

/** The value of a flag. As with kubectl, `--flag=false` switches a flag without value off. */
function flagValue(flag: Flag, token: OptionToken, see: string): string | boolean {
  const { value } = token;
  if (flag.value === undefined) {
    if (value === undefined || value === 'true') return true;
    if (value === 'false') return false;
    throw new UsageError(`${token.rawName} has no value, not ${JSON.stringify(value)}. ${see}`);
  }
  // A forgotten value must not swallow the next flag. A value that begins with a dash can follow an equals sign.
  const looksLikeFlag = token.inlineValue !== true && /^-./.test(value ?? '');
  if (value === undefined || looksLikeFlag) {
    throw new UsageError(`${token.rawName} needs a value, ${flag.value}. ${see}`);
  }
  const { choices } = flag;
  if (choices !== undefined && !choices.includes(value)) {
    throw invalidChoice(flag.name, choices, value);
  }
  return value;
}

function assertFewArguments(
  { maxArguments = 0 }: Command,
  positionals: readonly string[],
  help: boolean,
  see: string,
): void {
  if (help || positionals.length <= maxArguments) return;
  throw new UsageError(`unexpected ${JSON.stringify(positionals[maxArguments])}. ${see}`);
}
