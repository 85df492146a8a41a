import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What to do around the life of the socket. */
export interface ListenerHooks {
  /** Before it listens. */
  opening(): void;
  /** When it begins to close: ends what keeps connections busy. */
  closing(): void;
}

/** Starts and stops listening, any number of times. */
export interface Listener {
  listen(port?: number, host?: string): Promise<string>;
  close(): Promise<void>;
}

/** Clients written in Go keep idle connections for 90 s; a server that closes them first breaks requests. */
const KEEP_ALIVE_TIMEOUT_MS = 120_000;

/** Time that clients have for taking the rest of their answers when the server closes. */
const CLOSE_GRACE_MS = 1000;

/** Makes an HTTP server that can be closed without leaving a connection behind. */
export function createListener(handler: RequestListener, hooks: ListenerHooks): Listener {
  let server: Server | undefined;
  return {
    async listen(port = 0, host = '127.0.0.1') {
      if (server !== undefined) throw new Error('already listening');
      server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS }, handler);
      hooks.opening();
      server.listen(port, host);
      await once(server, 'listening').catch((error: unknown) => {
        server = undefined;
        throw error;
      });
      return urlOf(server);
    },
    async close() {
      const closing = server;
      server = undefined;
      if (closing !== undefined) await closeServer(closing, () => hooks.closing());
    },
  };
}

async function closeServer(server: Server, endStreams: () => void): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  endStreams();
  // A connection whose request has been answered would stay open for the keep-alive timeout.
  const sweep = setInterval(() => server.closeIdleConnections(), 10);
  const force = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await closed;
  clearInterval(sweep);
  clearTimeout(force);
}

function urlOf(server: Server): string {
  // A server that listens on a port has an address of this kind.
  const { address, port, family } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
