import type { Socket } from 'node:net';
import type { Credentials, TlsOptions } from '../credentials/credentials.ts';
import { UpstreamAgent } from './upstream-agent.ts';

/** Time limit for a connection, TLS included, in milliseconds. */
const CONNECT_MS = 5_000;
/**
 * Time limit for the start of a response, in milliseconds. It is longer than the 35 s in which a health check finds
 * a server that is gone. What ends here is one request that hangs at a server that answers others.
 */
const HEADERS_MS = 40_000;
/**
 * A quiet connection is probed by TCP keep-alive after this time, in milliseconds. libuv sends 10 probes, 1 s apart,
 * so a peer that is gone is noticed after 25 s.
 */
const KEEP_ALIVE_MS = 15_000;
/** Idle connections end before an apiserver ends them (90 s), so that none is used while it is being closed. */
const IDLE_MS = 60_000;

/**
 * Creates the agents and tracks their connections, including those of agents that were closed.
 *
 * The wrapper's own identity and that of a caller never share an agent: the API server would prefer our client
 * certificate to the caller's token.
 */
export class AgentPool {
  readonly #credentials: Pick<Credentials, 'tls'>;
  readonly #onConnect: () => void;
  readonly #headersMs: number;
  readonly #sockets = new Set<Socket>();
  readonly #agents = new Map<'own' | 'caller', UpstreamAgent>();

  constructor(options: {
    readonly credentials: Pick<Credentials, 'tls'>;
    /** Called whenever a connection is established. */
    readonly onConnect: () => void;
    /** Time limit for the start of a response, in milliseconds; default 40,000. */
    readonly headersMs?: number | undefined;
  }) {
    this.#credentials = options.credentials;
    this.#onConnect = options.onConnect;
    this.#headersMs = options.headersMs ?? HEADERS_MS;
  }

  /** The shared agent of an identity. */
  get(identity: 'own' | 'caller'): UpstreamAgent {
    const known = this.#agents.get(identity);
    if (known !== undefined) return known;
    const { cert, key, ...anonymous } = this.#credentials.tls();
    const agent = this.#create(identity === 'own' ? this.#credentials.tls() : anonymous);
    this.#agents.set(identity, agent);
    return agent;
  }

  /** An agent of our own identity for one request on a new connection. */
  createSingleUse(): UpstreamAgent {
    return this.#create(this.#credentials.tls());
  }

  /** Retires the shared agents: open requests end on their connections, and further requests get new ones. */
  retire(): void {
    for (const agent of this.#agents.values()) agent.close();
    this.#agents.clear();
  }

  /** Destroys all connections, including those being established, and waits until they are closed. */
  async close(): Promise<void> {
    this.retire();
    const closed = [...this.#sockets].map(
      (socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())),
    );
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }

  #create(tls: TlsOptions): UpstreamAgent {
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

  #track(socket: Socket): void {
    if (this.#sockets.has(socket)) return;
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
