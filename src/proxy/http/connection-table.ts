/** A request that is under way on a connection. */
export interface RequestState {
  /** Requests of one kind share a limit; see {@link ConnectionLimits}. */
  readonly kind: string;
  /** Whether the whole request has arrived, its body too. */
  readonly isReceived: () => boolean;
  /** Whether the whole answer is written, so that only its client has yet to take it. */
  readonly isAnswered: () => boolean;
}

export interface ConnectionLimits {
  /** Requests that are under way at the same time, and so the connections that are in use. */
  readonly maxRequests: number;
  /** Further connections that can be open without a request under way; at least 1. */
  readonly spare: number;
  /** A lower limit of the requests of one kind; absent: only `maxRequests` counts. */
  readonly maxOfKind?: Readonly<Record<string, number>>;
}

interface Entry {
  request: RequestState | undefined;
  /** Whether a request was answered on it. */
  served: boolean;
}

/**
 * The open connections of one listener. A new connection is always taken in: when there is no room, the
 * connection that is least worth keeping is evicted for it. In this order, each time the oldest first:
 *
 * 1. idle: its requests are answered, and no other has begun;
 * 2. incomplete: it has sent nothing, a part of a TLS handshake, or a part of a request;
 * 3. answered: its client does not take the end of an answer.
 *
 * A request that has arrived and is not answered yet is never evicted. One more than the limit is refused.
 *
 * Invariants: at most `maxRequests` requests are under way, and at most `maxRequests + spare` connections open.
 */
export class ConnectionTable<Connection> {
  readonly #limits: ConnectionLimits;
  readonly #evict: (connection: Connection) => void;
  /** The one that has been idle, or incomplete, for the longest time comes first. */
  readonly #entries = new Map<Connection, Entry>();
  /** Those with a request under way, the oldest request first. */
  readonly #inUse = new Map<Connection, RequestState>();

  /** @param evict closes a connection, which has left the table */
  constructor(limits: ConnectionLimits, evict: (connection: Connection) => void) {
    this.#limits = limits;
    this.#evict = evict;
  }

  /** Connections that are open. */
  get size(): number {
    return this.#entries.size;
  }

  /** Requests under way. */
  get requests(): number {
    return this.#inUse.size;
  }

  has(connection: Connection): boolean {
    return this.#entries.has(connection);
  }

  /** Takes a new connection in. */
  add(connection: Connection): void {
    const { maxRequests, spare } = this.#limits;
    if (this.#entries.size >= maxRequests + spare) this.#makeRoom();
    this.#entries.set(connection, { request: undefined, served: false });
  }

  /** A request begins. False: too many are under way, or the connection has been evicted. */
  begin(connection: Connection, request: RequestState): boolean {
    const entry = this.#entries.get(connection);
    if (entry === undefined) return false;
    const { maxRequests, maxOfKind = {} } = this.#limits;
    const limit = maxOfKind[request.kind];
    if (limit !== undefined) {
      const same = [...this.#inUse].filter(([, { kind }]) => kind === request.kind);
      if (same.length >= limit && !this.#evictFrom(same)) return false;
    }
    if (this.#inUse.size >= maxRequests && !this.#evictFrom(this.#inUse)) return false;
    entry.request = request;
    this.#inUse.set(connection, request);
    return true;
  }

  /** The answer to its request has been taken: the connection is idle. */
  end(connection: Connection): void {
    const entry = this.#entries.get(connection);
    if (entry === undefined) return;
    this.#inUse.delete(connection);
    // Again at the end of the order.
    this.#entries.delete(connection);
    this.#entries.set(connection, { request: undefined, served: true });
  }

  /** The connection is closed. */
  delete(connection: Connection): void {
    this.#inUse.delete(connection);
    this.#entries.delete(connection);
  }

  #makeRoom(): void {
    for (const isVictim of [isIdle, isIncomplete, isAnswered]) {
      for (const [connection, entry] of this.#entries) {
        if (!isVictim(entry)) continue;
        this.#remove(connection);
        return;
      }
    }
  }

  /** Ends the oldest of these requests that is not complete, or whose client does not take the answer. */
  #evictFrom(requests: Iterable<[Connection, RequestState]>): boolean {
    for (const isVictim of [isIncomplete, isAnswered]) {
      for (const [connection, request] of requests) {
        if (!isVictim({ request, served: false })) continue;
        this.#remove(connection);
        return true;
      }
    }
    return false;
  }

  #remove(connection: Connection): void {
    this.delete(connection);
    this.#evict(connection);
  }
}

function isIdle({ request, served }: Entry): boolean {
  return request === undefined && served;
}

function isIncomplete({ request, served }: Entry): boolean {
  return request === undefined ? !served : !request.isReceived() && !request.isAnswered();
}

function isAnswered({ request }: Entry): boolean {
  return request?.isAnswered() === true;
}
