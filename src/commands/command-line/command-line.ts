import { Command as Commander, CommanderError, Option } from 'commander';
import { VERSION } from '../../version.ts';
import type { Call, Command, Flag } from './command.ts';
import { type Flags, invalidChoice, UsageError } from './flags.ts';

/** Width of a terminal on which --help is read. */
const WIDTH = 120;

/** Stands for the name of the program in texts of the table. */
const PROGRAM = '{program}';

/** Codes with which commander ends after it has printed what was asked for. */
const PRINTED = ['commander.helpDisplayed', 'commander.help', 'commander.version'];

/** What a command line asks for. */
export type ParsedLine =
  | { readonly command: Command; readonly call: Omit<Call, 'session'> }
  | { readonly text: string };

/**
 * Parses a command line: a command with its flags and arguments, or the text of --help or --version. Errors name the
 * command, and what was probably meant. Throws UsageError.
 */
export function parseCommandLine(
  program: string,
  title: string,
  commands: readonly Command[],
  args: readonly string[],
): ParsedLine {
  let text = '';
  let parsed: ParsedLine | undefined;
  const root = new Commander(program)
    .description(title)
    .usage('COMMAND [flags]')
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .version(VERSION, '--version', 'the version')
    .helpOption('-h, --help', 'this text')
    .addHelpText('after', `\n${program} COMMAND --help has flags, examples and exit codes.`)
    .exitOverride(throwUsageError(program))
    .configureOutput({
      writeOut: (part) => {
        text += part;
      },
      writeErr: () => {},
      getOutHelpWidth: () => WIDTH,
    });
  for (const command of commands) {
    addCommand(root, program, command, (call) => {
      parsed = { command, call };
    });
  }
  const known = commands.find(({ name }) => name === args[0]);
  try {
    root.parse(known === undefined ? args : withoutBooleans(known, args), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError && PRINTED.includes(error.code))) throw error;
  }
  return parsed ?? { text };
}

function addCommand(
  root: Commander,
  program: string,
  command: Command,
  act: (call: Omit<Call, 'session'>) => void,
): void {
  const { name, summary, description, usage, flags, maxArguments = 0 } = command;
  const named = (text: string) => text.replaceAll(PROGRAM, program);
  const forms = usage.map(([args, remark = '']) => `${args.padEnd(36)} ${remark}`.trimEnd());
  const added = root
    .command(name)
    .summary(summary)
    .description(named(description))
    .usage(forms.join(`\n       ${program} ${name} `))
    .helpOption('-h, --help', 'this text')
    .addHelpText('after', `\n${named(remarksOf(command))}`)
    .exitOverride(throwUsageError(`${program} ${name}`));
  for (const flag of flags) for (const option of optionsOf(flag)) added.addOption(option);
  if (maxArguments > 0) added.argument('[argument...]');
  added.action((...given: readonly unknown[]) => {
    const args = maxArguments > 0 ? (given[0] as readonly string[]) : [];
    act({ flags: flagsOf(flags, added.opts()), args });
  });
}

/** What follows the flags in --help. */
function remarksOf({ notes, examples, exits }: Command): string {
  const codes = Object.entries(exits).map(([code, meaning]) => `${code} ${meaning}`);
  return [
    ...(notes === undefined ? [] : [notes, '']),
    'Examples:',
    ...examples.map((line) => `  ${line}`),
    '',
    'Exit codes:',
    ...codes.map((code) => `  ${code}`),
  ].join('\n');
}

function optionsOf(flag: Flag): Option[] {
  const { name, short, value, multiple = false, choices, help } = flag;
  const letter = short === undefined ? '' : `-${short}, `;
  if (value === undefined) {
    const option = new Option(`${letter}--${name}`, help);
    // For --flag=false, which overrides the settings file.
    return option.negate ? [option] : [option, new Option(`--no-${name}`).hideHelp()];
  }
  const parse = (text: string, before: unknown): unknown => {
    // A forgotten value must not swallow the next flag.
    if (/^-./.test(text)) throw new UsageError(`--${name} needs a value, ${value}, not ${text}`);
    if (choices?.includes(text) === false) throw invalidChoice(name, choices, text);
    return multiple ? [...(Array.isArray(before) ? before : []), text] : text;
  };
  return [new Option(`${letter}--${name} <${value}>`, help).argParser(parse)];
}

/** As with kubectl, `--flag=false` switches a flag without value off. */
function withoutBooleans({ flags }: Command, args: readonly string[]): string[] {
  return args.flatMap((arg) => {
    const [, name = '', value] = /^--([\w-]+)=(true|false)$/.exec(arg) ?? [];
    const isBoolean = flags.some((flag) => flag.name === name && flag.value === undefined);
    if (!isBoolean) return [arg];
    if (value === 'true') return [`--${name}`];
    return name.startsWith('no-') ? [] : [`--no-${name}`];
  });
}

/** The given flags by their names; commander has camelCase, and `headers: false` for --no-headers. */
function flagsOf(flags: readonly Flag[], options: Readonly<Record<string, unknown>>): Flags {
  const given = flags.flatMap((flag) => {
    const [option] = optionsOf(flag);
    const value = option && options[option.attributeName()];
    if (option?.negate) return value === false ? [[flag.name, true] as const] : [];
    return value === undefined ? [] : [[flag.name, value as string | boolean] as const];
  });
  return Object.fromEntries(given);
}

/** Turns the errors of commander into one line. */
function throwUsageError(command: string): (error: CommanderError) => never {
  return (error) => {
    if (PRINTED.includes(error.code)) throw error;
    const line = error.message
      .replace(/^error: /, '')
      .replaceAll('\n', ' ')
      .replace(/\.$/, '');
    throw new UsageError(`${line}. See ${command} --help`);
  };
}
