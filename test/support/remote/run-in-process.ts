import type { Session } from '../../../src/commands/command-line/command.ts';
import { runProgram } from '../../../src/commands/command-line/program.ts';
import { renderReport } from '../../../src/commands/output/report.ts';

/** What a command line printed, and its exit code. */
export interface Printed {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command line of a program in this process, without a terminal. */
export async function runInProcess(session: Session, args: readonly string[]): Promise<Printed> {
  let out = '';
  let err = '';
  const write = { out: process.stdout.write, err: process.stderr.write };
  process.stdout.write = ((text: string) => {
    out += text;
    return true;
  }) as typeof process.stdout.write;
  process.stderr.write = ((text: string) => {
    err += text;
    return true;
  }) as typeof process.stderr.write;
  try {
    const quiet: Session = {
      ...session,
      print: async (report, flags) => {
        out += renderReport(report, flags);
      },
    };
    const code = await runProgram({ title: 'test', session: quiet }, args);
    return { code, out, err };
  } finally {
    process.stdout.write = write.out;
    process.stderr.write = write.err;
  }
}
