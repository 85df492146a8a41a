import { printLine } from '../../src/text/untrusted-text.ts';
import { messageOf } from '../../src/util/message-of.ts';
import { type Call, type Command, EXIT, type Program } from './command.ts';
import { parseCommandLine } from './command-line.ts';
import { UsageError } from './usage-error.ts';

/*
 * The room `command-line`: from arguments to an exit code. It knows no single command.
 *   program.ts           runs one command line
 *   command-line.ts      parses it with commander
 *   completion.ts        what a shell may complete it with
 *   command.ts           what a command and a program are
 *   watch.ts             prints a status again when it changes
 *   service-argument.ts  a Service as an argument
 *   user-kubeconfig.ts   the kubeconfig of the caller
 */

/** Runs one command line and returns the exit code. Never rejects. */
export async function runProgram(program: Program, args: readonly string[]): Promise<number> {
  const { name, removed = {} } = program;
  try {
    const [command = ''] = args[0] === 'help' ? args.slice(1) : args;
    if (Object.hasOwn(removed, command)) {
      throw new UsageError(`${command} was removed: ${removed[command]}`);
    }
    const isEmpty = args.length === 0;
    const line = parseCommandLine(program, isEmpty ? ['--help'] : args);
    if ('command' in line) return await execute(line.command, line.call);
    process.stdout.write(line.text);
    return isEmpty ? EXIT.usage : EXIT.ok;
  } catch (error) {
    process.stderr.write(printLine(`${name}: ${messageOf(error)}`));
    return error instanceof UsageError ? EXIT.usage : EXIT.failed;
  }
}

async function execute(command: Command, call: Call<never>): Promise<number> {
  const { code, report } = await command.execute(call);
  if (report === undefined) return code;
  // Not imported above: `run` prints no report.
  const { printReport } = await import('../output/print.ts');
  await printReport(report, call.flags);
  return code;
}

/**
 * Ends the process if standard output cannot be written: with an error, or quietly if a reader has closed it early
 * (`explain | head`).
 */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok);
    process.stderr.write(printLine(`cannot write standard output: ${error.message}`));
    process.exit(EXIT.failed);
  });
}
