import type { Socket } from 'node:net';
import type { Credentials, TlsOptions } from '../credentials/credentials.ts';
import { Agent, type AgentOptions } from './agent.ts';

/** The wrapper's own identity, or that of a caller. */
export type UpstreamIdentity = 'own' | 'caller';

export interface AgentPoolOptions
  extends Pick<AgentOptions, 'headersMs' | 'quietMs' | 'onConnect' | 'onPing'> {
  readonly credentials: Pick<Credentials, 'tls'>;
  /** Called when connections to a server are found dead, with the number of their requests. */
  readonly onDead: (server: URL, requests: number) => void;
}

/**
 * Creates the agents and tracks their connections, including those of agents that were closed.
 *
 * The wrapper's own identity and that of a caller never share an agent: the API server would prefer our client
 * certificate to the caller's token.
 */
export class AgentPool {
  readonly #options: AgentPoolOptions;
  readonly #sockets = new Set<Socket>();
  /** By identity and URL: bounded, because an operator has listed the servers. */
  readonly #agents = new Map<string, Agent>();

  constructor(options: AgentPoolOptions) {
    this.#options = options;
  }

  /** The shared agent of an identity and a server. */
  get(identity: UpstreamIdentity, server: URL): Agent {
    const known = this.#agents.get(id(identity, server));
    if (known !== undefined) return known;
    const tls = this.#options.credentials.tls();
    const { cert, key, ...anonymous } = tls;
    const agent = this.#create(server, identity === 'own' ? tls : anonymous);
    this.#agents.set(id(identity, server), agent);
    return agent;
  }

  /** An agent of our own identity for one request on a new connection. */
  createSingleUse(server: URL): Agent {
    return this.#create(server, this.#options.credentials.tls());
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

  #create(server: URL, tls: TlsOptions): Agent {
    return new Agent({
      ...this.#options,
      server,
      tls,
      onSocket: (socket) => {
        this.#sockets.add(socket);
        socket.once('close', () => this.#sockets.delete(socket));
      },
      onDead: (requests) => this.#options.onDead(server, requests),
    });
  }
}

function id(identity: UpstreamIdentity, server: URL): string {
  return `${identity} ${server.href}`;
}
