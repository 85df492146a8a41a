import type { Socket } from 'node:net';
import type { TlsOptions } from '../credentials/credentials.ts';
import { UpstreamAgent } from './upstream-agent.ts';

/** How long the API server may take to accept a connection, TLS and all, in milliseconds. */
const CONNECT_MS = 5_000;
/**
 * How long it may take to begin an answer, in milliseconds. Longer than it takes to find out that it is no longer
 * there at all (35 s, see Pulse): what ends here is one request that hangs at a server that answers others.
 */
const HEADERS_MS = 40_000;
/**
 * A quiet connection is probed by TCP keep-alive after this long, in milliseconds. libuv sends 10 probes, 1 s
 * apart, so that a peer that is gone is noticed after 25 s.
 */
const KEEP_ALIVE_MS = 15_000;
/** Idle connections end before an apiserver ends them (90 s), so that none is used while it is being closed. */
const IDLE_MS = 60_000;

/** Makes agents, and knows their connections: also those that an agent forgets once it is closed. */
export class ConnectionTracker {
  readonly #sockets = new Set<Socket>();
  readonly #onConnect: () => void;
  readonly #headersMs: number;

  /**
   * @param onConnect called whenever a connection is established
   * @param headersMs how long an answer may take to begin, in milliseconds; default 40,000
   */
  constructor(onConnect: () => void, headersMs = HEADERS_MS) {
    this.#onConnect = onConnect;
    this.#headersMs = headersMs;
  }

  agent(tls: TlsOptions): UpstreamAgent {
    return new UpstreamAgent({
      tls,
      times: {
        connectMs: CONNECT_MS,
        headersMs: this.#headersMs,
        probeMs: KEEP_ALIVE_MS,
        idleMs: IDLE_MS,
      },
      onSocket: (socket) => this.#track(socket),
      onConnect: this.#onConnect,
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

  #track(socket: Socket): void {
    if (this.#sockets.has(socket)) return;
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
