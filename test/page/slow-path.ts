import { connect, createServer, type Socket } from 'node:net';

/** A relay to a port that delays bytes, or loses them while the connections stay open. */
export interface SlowPath {
  readonly url: string;
  /** Delay in each direction, in milliseconds. */
  delayMs: number;
  /** Open connections stay open but lose all bytes, including their end. New connections work. */
  freeze(): void;
  close(): void;
}

/** Starts the relay. */
export async function openSlowPath(to: string): Promise<SlowPath> {
  const open = new Set<Socket>();
  const live = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(new URL(to).port), '127.0.0.1');
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from);
      live.add(from);
      from.setNoDelay(true);
      from.on('error', () => {});
      from.on('data', (bytes) => {
        if (live.has(from)) setTimeout(() => into.writable && into.write(bytes), path.delayMs);
      });
      from.on('close', () => {
        open.delete(from);
        if (live.delete(from)) into.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const path: SlowPath = {
    url: `http://127.0.0.1:${port}`,
    delayMs: 0,
    freeze: () => live.clear(),
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
  return path;
}
