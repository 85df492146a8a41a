import { Command as Commander, CommanderError, Option } from 'commander';
import { VERSION } from '../../src/version.ts';
import type { Call, Command, Program } from './command.ts';
import { UsageError } from './usage-error.ts';

/** Width of a terminal on which --help is read. */
const WIDTH = 120;

/** Stands for the name of the program in texts of the table. */
const PROGRAM = '{program}';

/** Codes with which commander ends after it has printed what was asked for. */
const PRINTED = ['commander.helpDisplayed', 'commander.help', 'commander.version'];

/** What a command line asks for. */
export type ParsedLine =
  | { readonly command: Command; readonly call: Call<never> }
  | { readonly text: string };

/**
 * Parses a command line: a command with its flags and arguments, or the text of --help or --version. Errors name the
 * command, and what was probably meant. Throws UsageError.
 */
export function parseCommandLine(
  { name: program, title, commands }: Program,
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
    const added = addCommand(root, program, command);
    added.action(() => {
      parsed = { command, call: { flags: added.opts<never>(), args: added.args } };
    });
  }
  const named = args[0] === 'help' ? args[1] : args[0];
  if (named?.startsWith('-') === false) assertKnownCommand(root, named);
  const known = commands.find(({ name }) => name === args[0]);
  if (known !== undefined) assertValues(known, args);
  try {
    root.parse(known === undefined ? args : withoutBooleans(known, args), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError && PRINTED.includes(error.code))) throw error;
  }
  return parsed ?? { text };
}

/** Commander prints the list of commands as the help of a command that it does not have. */
function assertKnownCommand(root: Commander, name: string): void {
  const isKnown = name === 'help' || root.commands.some((each) => each.name() === name);
  if (!isKnown) root.parse([name], { from: 'user' });
}

function addCommand(root: Commander, program: string, command: Command): Commander {
  const { name, summary, description, usage, flags, hasArguments } = command;
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
  for (const flag of flags) {
    added.addOption(flag);
    if (flag.isBoolean()) addSwitchOff(added, flag);
  }
  return hasArguments ? added.argument('[argument...]') : added;
}

/** For --flag=false, which overrides the settings file. */
function addSwitchOff(command: Commander, flag: Option): void {
  const off = new Option(`--no-${flag.name()}`).hideHelp();
  command.addOption(off);
  // Commander takes a flag with the source `default` for one that was not given, which conflicts with no other.
  command.on(`option:${off.name()}`, () =>
    command.setOptionValueWithSource(flag.attributeName(), false, 'default'),
  );
}

/** What follows the flags in --help. */
function remarksOf({ notes, examples, exits }: Command): string {
  const all = { 2: 'wrong command line', ...exits };
  const codes = Object.entries(all).map(([code, meaning]) => `${code} ${meaning}`);
  return [
    ...(notes === undefined ? [] : [notes, '']),
    'Examples:',
    ...examples.map((line) => `  ${line}`),
    '',
    'Exit codes:',
    ...codes.map((code) => `  ${code}`),
  ].join('\n');
}

/** A forgotten value must not swallow the next flag. */
function assertValues({ flags }: Command, args: readonly string[]): void {
  for (const [index, arg] of args.entries()) {
    const flag = flags.find(({ required, long, short }) => required && [long, short].includes(arg));
    const next = args[index + 1] ?? '';
    if (flag !== undefined && /^-./.test(next))
      throw new UsageError(`option '${flag.flags}' needs a value, not ${next}`);
  }
}

/** As with kubectl, `--flag=false` switches a flag without value off. */
function withoutBooleans({ flags }: Command, args: readonly string[]): string[] {
  return args.flatMap((arg) => {
    const [, name = '', value] = /^--([\w-]+)=(true|false)$/.exec(arg) ?? [];
    const flag = flags.find((each) => each.name() === name && !each.required);
    if (flag === undefined) return [arg];
    if (value === 'true') return [`--${name}`];
    return flag.negate ? [] : [`--no-${name}`];
  });
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
