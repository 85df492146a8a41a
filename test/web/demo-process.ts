import { spawn } from 'node:child_process';
import { once } from 'node:events';

const ROOT = new URL('../..', import.meta.url).pathname;

/** The running demo, after its tour. */
export interface DemoProcess {
  /** URL of its page. */
  readonly url: string;
  /** Types a line into its terminal. */
  type(line: string): void;
  /** Types `quit` and waits for the end. */
  close(): Promise<void>;
}

/**
 * Runs `npm run demo` without npm. Throws with its output if it ends before the tour is over.
 *
 * @param program default: the sources
 */
export async function startDemo(program = 'cli/main.ts'): Promise<DemoProcess> {
  const child = spawn(process.execPath, [program, 'demo'], {
    cwd: ROOT,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let out = '';
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      if (out.includes('Your turn.')) resolve();
    });
    child.once('close', (code, signal) => {
      reject(new Error(`the demo ended (${signal ?? `code ${code}`}) after saying: ${out}`));
    });
  });
  return {
    url: /with buttons: (\S+)/.exec(out)?.[1] ?? '',
    type: (line) => child.stdin.write(`${line}\n`),
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const closed = once(child, 'close');
      child.stdin.end('quit\n');
      await closed;
    },
  };
}
