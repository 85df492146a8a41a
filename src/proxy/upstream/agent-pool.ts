import type { Socket } from 'node:net';
import type { Credentials, TlsOptions } from '../credentials/credentials.ts';
import type { AgentTimes } from './agent-request.ts';
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
 * After this time without a byte, or up to an eighth of it later, a PING is sent on a connection of HTTP/2, which has
 * the second time to be answered, in milliseconds. So a connection that is dead is noticed within 33 s, also if others
 * work. Client-go has 30 s and 15 s.
 */
const QUIET_MS = 20_000;
const PING_MS = 10_000;

const IDENTITIES = ['own', 'caller'] as const;

/** The wrapper's own identity, or that of a caller. */
export type UpstreamIdentity = (typeof IDENTITIES)[number];

/**
 * Creates the agents and tracks their connections, including those of agents that were closed.
 *
 * The wrapper's own identity and that of a caller never share an agent: the API server would prefer our client
 * certificate to the caller's token.
 */
export class AgentPool {
  readonly #credentials: Pick<Credentials, 'tls'>;
  readonly #onConnect: () => void;
  readonly #onPing: () => void;
  readonly #onDead: (server: URL, requests: number) => void;
  readonly #times: AgentTimes;
  readonly #sockets = new Set<Socket>();
  /** By identity and URL: bounded, because an operator has listed the servers. */
  readonly #agents = new Map<string, UpstreamAgent>();

  constructor(options: {
    readonly credentials: Pick<Credentials, 'tls'>;
    /** Called whenever a connection is established. */
    readonly onConnect: () => void;
    /** Called when a server has answered a PING. */
    readonly onPing: () => void;
    /** Called when a connection is found dead, with the number of its requests. */
    readonly onDead: (server: URL, requests: number) => void;
    /** Time limit for the start of a response, in milliseconds; default 40,000. */
    readonly headersMs?: number | undefined;
    /** After this time without a byte a PING is sent, in milliseconds; default 20,000. */
    readonly quietMs?: number | undefined;
  }) {
    const { credentials, onConnect, onPing, onDead } = options;
    const { headersMs = HEADERS_MS, quietMs = QUIET_MS } = options;
    this.#credentials = credentials;
    this.#onConnect = onConnect;
    this.#onPing = onPing;
    this.#onDead = onDead;
    this.#times = {
      ...{ connectMs: CONNECT_MS, headersMs, probeMs: KEEP_ALIVE_MS, idleMs: IDLE_MS },
      ...{ quietMs, pingMs: Math.min(PING_MS, quietMs) },
    };
  }

  /** The shared agent of an identity and a server. */
  get(identity: UpstreamIdentity, server: URL): UpstreamAgent {
    const known = this.#agents.get(id(identity, server));
    if (known !== undefined) return known;
    const tls = this.#credentials.tls();
    const { cert, key, ...anonymous } = tls;
    const agent = this.#create(server, identity === 'own' ? tls : anonymous);
    this.#agents.set(id(identity, server), agent);
    return agent;
  }

  /** An agent of our own identity for one request on a new connection. */
  createSingleUse(server: URL): UpstreamAgent {
    return this.#create(server, this.#credentials.tls());
  }

  /** Whether all connections to a server find out by themselves whether they are alive; see PingCheck. */
  isSelfChecked(server: URL): boolean {
    const agents = IDENTITIES.flatMap((identity) => this.#agents.get(id(identity, server)) ?? []);
    return agents.length > 0 && agents.every(({ isSelfChecked }) => isSelfChecked);
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

  #create(server: URL, tls: TlsOptions): UpstreamAgent {
    return new UpstreamAgent({
      ...{ server, tls, times: this.#times, onConnect: this.#onConnect, onPing: this.#onPing },
      onSocket: (socket) => this.#track(socket),
      onDead: (requests) => this.#onDead(server, requests),
    });
  }

  #track(socket: Socket): void {
    if (this.#sockets.has(socket)) return;
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}

function id(identity: UpstreamIdentity, server: URL): string {
  return `${identity} ${server.href}`;
}
