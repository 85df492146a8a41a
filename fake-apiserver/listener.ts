import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

/** The certificate of a server over TLS. */
export interface ListenerTls {
  /** PEM, as `key`. */
  readonly cert: string;
  readonly key: string;
  /** Offers only HTTP/1.1, as some gateways do. Default: HTTP/2 too (ALPN), as an API server. */
  readonly http1Only?: boolean;
}

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

/** Creates an HTTP server that leaves no connection open when it is closed. @param tls default: plain http */
export function createListener(
  handler: RequestListener,
  hooks: ListenerHooks,
  tls?: ListenerTls,
): Listener {
  let server: Server | undefined;
  return {
    async listen(port = 0, host = '127.0.0.1') {
      if (server !== undefined) throw new Error('already listening');
      server = createFor(handler, tls);
      hooks.opening();
      server.listen(port, host);
      await once(server, 'listening').catch((error: unknown) => {
        server = undefined;
        throw error;
      });
      return urlOf(server, tls === undefined ? 'http' : 'https');
    },
    async close() {
      const closing = server;
      server = undefined;
      if (closing !== undefined) await closeServer(closing, () => hooks.closing());
    },
  };
}

/** Destroys the connection of a response, and so all requests on it if it is of HTTP/2. */
export function destroyConnection(response: ServerResponse | Http2ServerResponse): void {
  if (!('stream' in response)) {
    response.destroy();
    return;
  }
  // Not session.destroy(), which ends its streams first, so that they would seem complete. Once: each call listens.
  const socket = response.stream.session?.socket;
  if (socket?.writableEnded === false) socket.destroySoon();
}

function createFor(handler: RequestListener, tls: ListenerTls | undefined): Server {
  const keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  if (tls === undefined) return createServer({ keepAliveTimeout }, handler);
  const { cert, key, http1Only = false } = tls;
  if (http1Only) return createHttpsServer({ cert, key, keepAliveTimeout }, handler);
  const server = createSecureServer({ cert, key, allowHTTP1: true });
  const sessions = new Set<ServerHttp2Session>();
  const sockets = new Set<Socket>();
  server.on('secureConnection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    session.on('error', () => {});
  });
  // Node gives requests and responses of HTTP/2 the shape of those of HTTP/1.1, but not the server.
  server.on('request', handler as never);
  return Object.assign(server as unknown as Server, {
    closeIdleConnections: () => {
      for (const session of sessions) session.close();
    },
    closeAllConnections: () => {
      for (const socket of sockets) socket.destroy();
    },
  });
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

function urlOf(server: Server, scheme: string): string {
  // The address is a string only for a server that listens on a path.
  const { address, port, family } = server.address() as AddressInfo;
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
