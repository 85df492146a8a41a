import { spawn } from 'node:child_process';
import { searchPath } from './search-path.ts';

/**
 * Runs a command to its end and returns its stdout. Throws with the end of its stderr if it
 * fails. `input` becomes its stdin.
 */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: {
    readonly input?: string;
    readonly cwd?: string;
    readonly env?: NodeJS.ProcessEnv;
  } = {},
): Promise<string> {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...process.env, PATH: searchPath(), ...options.env },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  // A command that does not read its stdin closes it early; only its exit code matters.
  child.stdin.on('error', () => {});
  child.stdin.end(options.input ?? '');
  const code = await new Promise<number | null>((done, fail) => {
    child.once('error', fail);
    child.once('close', done);
  });
  if (code !== 0) {
    throw new Error(`${command} ${args.join(' ')} ended with ${code}: ${stderr.slice(-2000)}`);
  }
  return stdout;
}
