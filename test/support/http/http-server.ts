import { createServer, type RequestListener, type Server } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { closedLater } from '../closed-later.ts';
import { eventually } from '../eventually.ts';

/** A server on a free port of 127.0.0.1 that tracks its connections. */
export interface TestServer<S extends NetServer = Server> {
  readonly url: URL;
  readonly server: S;
  /** Connections that are open now. */
  readonly connections: ReadonlySet<Socket>;
  /** Number of connections ever accepted. */
  readonly accepted: number;
  /** Waits until the clients have closed all connections; rejects if they do not. */
  idle(): Promise<void>;
  /** Ends all connections and stops listening. */
  close(): Promise<void>;
}

/** What a server over TLS offers: both, as a kube-apiserver does, or only the older, as some gateways do. */
export type Protocol = 'HTTP/2' | 'HTTP/1.1';
export const PROTOCOLS: readonly Protocol[] = ['HTTP/2', 'HTTP/1.1'];

/** As an API server does, and longer than any test waits: an idle connection that a client forgets stays open. */
const KEEP_ALIVE_MS = 90_000;

/** Starts a server; with `tls` an https server. */
export async function startServer(
  listener: RequestListener,
  tls?: TlsOptions,
  protocol: Protocol = 'HTTP/2',
): Promise<TestServer> {
  return await track(createFor(protocol, listener, tls), tls !== undefined);
}

/** Starts to listen. */
export async function track<S extends NetServer>(
  server: S,
  isTls: boolean,
): Promise<TestServer<S>> {
  const connections = new Set<Socket>();
  let accepted = 0;
  server.on(isTls ? 'secureConnection' : 'connection', (socket: Socket) => {
    accepted++;
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`${isTls ? 'https' : 'http'}://127.0.0.1:${port}`),
    server,
    connections,
    get accepted() {
      return accepted;
    },
    idle: () => eventually(() => connections.size === 0, true),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of connections) socket.destroy();
      }),
  };
}

/** Closes a server after the test, which fails if a client has left a connection open. */
export function idleLater<S extends Pick<TestServer, 'idle' | 'close'>>(server: S): S {
  closedLater({
    close: async () => {
      await server.idle();
      await server.close();
    },
  });
  return server;
}

function createFor(protocol: Protocol, listener: RequestListener, tls?: TlsOptions): Server {
  const keepAliveTimeout = KEEP_ALIVE_MS;
  if (tls === undefined) return createServer({ keepAliveTimeout }, listener);
  if (protocol === 'HTTP/1.1') return createTlsServer({ ...tls, keepAliveTimeout }, listener);
  const server = createSecureServer({ ...tls, allowHTTP1: true });
  // Node's HTTP/2 has requests and responses of the same shape.
  return server.on('request', listener as never) as unknown as Server;
}
