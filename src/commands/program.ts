import { suggestion } from '../did-you-mean.ts';
import { WrapperError } from '../errors.ts';
import { printLine } from '../untrusted-text.ts';
import { VERSION } from '../version.ts';
import { type Command, EXIT, type Session } from './command.ts';
import { helpOf, usageOf } from './command-line/help.ts';
import { parseCommandLine } from './command-line/parse.ts';
import { UsageError } from './flags.ts';

/** A program of this package: kube-proxy-wrapper or kubectl-kpw. */
export interface Program {
  readonly title: string;
  readonly session: Session;
}

/** Runs one command line and returns the exit code. Never rejects. */
export async function runProgram(
  { title, session }: Program,
  [name = '', ...args]: readonly string[],
): Promise<number> {
  const { program, commands } = session;
  const usage = () => usageOf(program, title, commands);
  if (name === '--version') return say(`${VERSION}\n`);
  if (name === '') return say(usage(), EXIT.usage);
  const found = (wanted: string) => commands.find((command) => command.name === wanted);
  try {
    if (['--help', '-h'].includes(name)) return say(usage());
    if (name === 'help') {
      const [about] = args;
      return say(about === undefined ? usage() : helpOf(known(found(about), about), program));
    }
    return await execute(known(found(name), name), args, session);
  } catch (error) {
    return fail(program, error);
  }

  function known(command: Command | undefined, typed: string): Command {
    if (command !== undefined) return command;
    const names = commands.map((each) => each.name);
    const what = typed.startsWith('-')
      ? `the command comes before the flags, not ${typed}.`
      : `unknown command ${JSON.stringify(typed)}.${suggestion(typed, names)}`;
    throw new UsageError(`${what} See ${program} --help`);
  }
}

async function execute(
  command: Command,
  args: readonly string[],
  session: Session,
): Promise<number> {
  const { program } = session;
  const line = parseCommandLine(command, args, program);
  if (line.help) return say(helpOf(command, program));
  return await command.execute({ flags: line.flags, args: line.args, session });
}

function say(text: string, code: number = EXIT.ok): number {
  process.stdout.write(text);
  return code;
}

function fail(program: string, error: unknown): number {
  const { message } = WrapperError.from(error, 'InvalidSettings');
  process.stderr.write(printLine(`${program}: ${message}`));
  return error instanceof UsageError ? EXIT.usage : EXIT.failed;
}

/** Ends the process quietly if a reader closes the output early (`explain | head`). That is not an error. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(EXIT.ok);
  });
}
