/** How long the process may take to end by itself, in milliseconds. */
const PATIENCE_MS = 1_000;

/**
 * To be called when all is closed: ends the process, with its exit code, even if something hangs of which nobody
 * waits for the outcome any more. By itself Node waits for a plugin of the kubeconfig that runs, and for a thread
 * that reads or writes a file on a disk that does not answer; for the latter process.exit() waits too (libuv joins
 * its threads), and as process 1 it cannot kill itself. An exec is rid of all threads.
 */
export function forceExit(): void {
  setTimeout(() => {
    const script = `process.exit(${process.exitCode ?? 0})`;
    process.execve?.(process.execPath, [process.execPath, '-e', script], {});
  }, PATIENCE_MS).unref();
}
