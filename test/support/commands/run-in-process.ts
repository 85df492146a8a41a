import type { Program } from '../../../cli/command-line/command.ts';
import { runProgram } from '../../../cli/command-line/program.ts';

/** What a command line printed, and its exit code. */
export interface Printed {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command line of a program in this process, without a terminal. */
export async function runInProcess(program: Program, args: readonly string[]): Promise<Printed> {
  let out = '';
  let err = '';
  const write = { out: process.stdout.write, err: process.stderr.write };
  process.stdout.write = ((text: string, written?: () => void) => {
    out += text;
    written?.();
    return true;
  }) as typeof process.stdout.write;
  process.stderr.write = ((text: string) => {
    err += text;
    return true;
  }) as typeof process.stderr.write;
  try {
    const code = await runProgram(program, args);
    return { code, out, err };
  } finally {
    process.stdout.write = write.out;
    process.stderr.write = write.err;
  }
}
