#!/usr/bin/env node
import './node-version.ts';
import './v8-flags.ts';
import { parseArgs } from 'node:util';
import { checkCommand } from './commands/check.ts';
import { type Command, EXIT, UsageError } from './commands/command.ts';
import { createCompletionCommand } from './commands/completion.ts';
import { diffCommand } from './commands/diff.ts';
import { explainCommand } from './commands/explain.ts';
import { runCommand } from './commands/run-command.ts';
import { simulateCommand } from './commands/simulate.ts';
import { WrapperError } from './errors.ts';
import { printLine } from './untrusted-text.ts';
import { VERSION } from './version.ts';

const MAIN_COMMANDS: Readonly<Record<string, Command>> = {
  run: runCommand,
  explain: explainCommand,
  diff: diffCommand,
  simulate: simulateCommand,
  check: checkCommand,
};
const COMMANDS: typeof MAIN_COMMANDS = {
  ...MAIN_COMMANDS,
  completion: createCompletionCommand(MAIN_COMMANDS),
};

const USAGE = `kube-proxy-wrapper: shows kube-proxy the endpoints that each Service's topology policy selects

Usage:
  kube-proxy-wrapper COMMAND [flags]

Commands:
${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}`)
  .join('\n')}

  kube-proxy-wrapper COMMAND --help   flags, examples and exit codes of a command
  -h, --help                          this text
  --version                           the version

Exit codes of all commands: 0 success, 1 the command failed, 2 wrong command line, 3 the command worked and found
problems (simulate, check).
`;

async function main(args: readonly string[]): Promise<number> {
  const [name = '', ...rest] = args;
  if (name === '--version') {
    process.stdout.write(`${VERSION}\n`);
    return EXIT.ok;
  }
  if (['', '--help', '-h', 'help'].includes(name)) {
    process.stdout.write(USAGE);
    return name === '' ? EXIT.usage : EXIT.ok;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    return fail(EXIT.usage, new Error(`unknown command ${JSON.stringify(name)}; try --help`));
  }
  try {
    return await execute(name, command, rest);
  } catch (error) {
    return fail(error instanceof UsageError ? EXIT.usage : EXIT.failed, error);
  }
}

async function execute(name: string, command: Command, args: string[]): Promise<number> {
  const { values, positionals } = parse(command, args);
  const { help, ...flags } = values;
  if (help === true) {
    process.stdout.write(command.help);
    return EXIT.ok;
  }
  if (positionals.length > command.maxArguments) {
    const extra = JSON.stringify(positionals[command.maxArguments]);
    throw new UsageError(`unexpected ${extra}; try ${name} --help`);
  }
  return await command.execute(flags, positionals);
}

function parse({ options }: Command, args: string[]) {
  try {
    const all = { ...options, help: { type: 'boolean', short: 'h' } } as const;
    return parseArgs({ args, options: all, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function fail(code: number, error: unknown): number {
  const { message } = WrapperError.from(error, 'InvalidSettings');
  process.stderr.write(printLine(`kube-proxy-wrapper: ${message}`));
  return code;
}

// A reader may close the output early (`explain | head`). That is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(EXIT.ok);
});
process.exitCode = await main(process.argv.slice(2));
