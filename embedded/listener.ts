import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Called when the listener opens and closes. */
export interface ListenerHooks {
  /** Called before it listens. */
  opening(): void;
  /** Called when it begins to close. It must end the requests that keep connections busy. */
  closing(): void;
}

/** Starts and stops listening, any number of times. */
export interface Listener {
  listen(port?: number, host?: string): Promise<string>;
  close(): Promise<void>;
}

/** Go clients keep idle connections for 90 s. A server that closes them earlier breaks requests. */
const KEEP_ALIVE_TIMEOUT_MS = 120_000;

/** Time for clients to read the rest of their responses when the server closes. */
const CLOSE_GRACE_MS = 1000;

/** Creates an HTTP server that leaves no connection open when it is closed. */
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
  // Otherwise a connection without a request would stay open for the keep-alive timeout.
  const sweep = setInterval(() => server.closeIdleConnections(), 10);
  const force = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await closed;
  clearInterval(sweep);
  clearTimeout(force);
}

function urlOf(server: Server): string {
  // The address is a string only for a server that listens on a path.
  const { address, port, family } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
