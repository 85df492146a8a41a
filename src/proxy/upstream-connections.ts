import { Socket } from 'node:net';
import { Agent, buildConnector } from 'undici';
import type { TlsOptions } from './credentials.ts';

/** How long the API server may take to accept a connection, TLS and all, in milliseconds. */
const CONNECT_MS = 5_000;
/** How long it may take to begin an answer, in milliseconds. */
const HEADERS_MS = 30_000;
/**
 * A quiet connection is probed by TCP keep-alive after this long, in milliseconds. libuv sends 10 probes, 1 s
 * apart, so that a peer that is gone is noticed after 25 s.
 */
const KEEP_ALIVE_MS = 15_000;

/** Makes agents, and knows their connections: also those that an agent forgets once it is closed. */
export class Connections {
  readonly #sockets = new Set<Socket>();
  readonly #onConnect: () => void;

  /** @param onConnect called whenever a connection is established */
  constructor(onConnect: () => void) {
    this.#onConnect = onConnect;
  }

  /** HTTP/1.1 only: a dead peer of an HTTP/2 session is noticed by nothing but a long timeout. */
  agent(tls: TlsOptions): Agent {
    return new Agent({
      allowH2: false,
      bodyTimeout: 0,
      headersTimeout: HEADERS_MS,
      connect: this.#connector(tls),
    });
  }

  /** Destroys all connections, also those that are not established yet, and waits until they are closed. */
  async close(): Promise<void> {
    const closed = [...this.#sockets].map(
      (socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())),
    );
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }

  #connector(tls: TlsOptions): buildConnector.connector {
    const connect = buildConnector({
      ...tls,
      allowH2: false,
      timeout: CONNECT_MS,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
    });
    return (options, callback) => {
      // The types hide that it returns the socket.
      const socket: unknown = connect(options, (...result) => {
        if (result[0] === null) this.#onConnect();
        callback(...result);
      });
      if (!(socket instanceof Socket)) return;
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    };
  }
}
