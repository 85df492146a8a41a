import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';

/*
 * Acts like systemd for a socket unit: listens on a port of 127.0.0.1, never accepts, and passes the socket to the
 * program, which it starts again whenever it ends. Usage: node socket-activator.ts <port> <program> <arguments…>
 */
const [port = '', ...command] = process.argv.slice(2);
const server = createServer().listen(Number(port), '127.0.0.1', () => {
  const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
  const passed = 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" "$@"';
  for (;;) {
    // Synchronous, so that this process never accepts a connection itself.
    spawnSync('sh', ['-c', passed, ...command], { stdio: ['ignore', 'inherit', 'inherit', fd] });
  }
});
