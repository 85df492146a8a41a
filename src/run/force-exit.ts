/** Time for the process to end by itself, in milliseconds. */
const EXIT_GRACE_MS = 1_000;

/**
 * Call it when everything is closed. It ends the process with its exit code even if some work hangs whose result is
 * no longer needed. Node.js would wait for a running plugin of the kubeconfig, and for a thread that reads or writes a
 * file on a disk that does not respond. process.exit() waits for such a thread too (libuv joins its threads), and
 * process 1 cannot kill itself. An exec removes all threads.
 */
export function forceExit(): void {
  setTimeout(() => {
    const script = `process.exit(${process.exitCode ?? 0})`;
    process.execve?.(process.execPath, [process.execPath, '-e', script], {});
  }, EXIT_GRACE_MS).unref();
}
