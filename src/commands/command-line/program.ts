import { WrapperError } from '../../errors.ts';
import { printLine } from '../../untrusted-text.ts';
import { EXIT, type Session } from './command.ts';
import { parseCommandLine } from './command-line.ts';
import { UsageError } from './flags.ts';

/** A program of this package: kube-proxy-wrapper or kubectl-kpw. */
export interface Program {
  readonly title: string;
  readonly session: Session;
}

/** Runs one command line and returns the exit code. Never rejects. */
export async function runProgram(
  { title, session }: Program,
  args: readonly string[],
): Promise<number> {
  const { program, commands } = session;
  try {
    const isEmpty = args.length === 0;
    const line = parseCommandLine(program, title, commands, isEmpty ? ['--help'] : args);
    if ('command' in line) return await line.command.execute({ ...line.call, session });
    process.stdout.write(line.text);
    return isEmpty ? EXIT.usage : EXIT.ok;
  } catch (error) {
    const { message } = WrapperError.from(error, 'InvalidSettings');
    process.stderr.write(printLine(`${program}: ${message}`));
    return error instanceof UsageError ? EXIT.usage : EXIT.failed;
  }
}

/** Ends the process quietly if a reader closes the output early (`explain | head`). That is not an error. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(EXIT.ok);
  });
}
