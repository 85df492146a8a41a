import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { until } from './until.ts';

/** A server on a free port of 127.0.0.1 that tracks its connections. */
export interface TestServer {
  readonly url: URL;
  readonly server: Server;
  /** Connections that are open now. */
  readonly connections: ReadonlySet<Socket>;
  /** Number of connections ever accepted. */
  readonly accepted: number;
  /** Waits until the clients have closed all connections; rejects if they do not. */
  idle(): Promise<void>;
  /** Ends all connections and stops listening. */
  close(): Promise<void>;
}

/** Starts a server; with `tls` an https server. */
export async function startServer(
  listener: RequestListener,
  tls?: TlsOptions,
): Promise<TestServer> {
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  const connections = new Set<Socket>();
  let accepted = 0;
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    accepted++;
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  // As an API server does, and longer than any test waits: an idle connection that a client forgets stays open.
  server.keepAliveTimeout = 90_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`),
    server,
    connections,
    get accepted() {
      return accepted;
    },
    idle: () => until(() => connections.size === 0, 'the connections to be closed'),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
