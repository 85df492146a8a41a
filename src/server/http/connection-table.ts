/** An active request on a connection. */
export interface RequestState {
  /** Requests of one kind share a limit; see {@link ConnectionLimits}. */
  readonly kind: string;
  /** Whether the whole request has arrived, including its body. */
  readonly isReceived: () => boolean;
  /** Whether the whole response is written. The client may not have read it yet. */
  readonly isAnswered: () => boolean;
}

export interface ConnectionLimits {
  /** Maximum number of active requests, and of connections in use. */
  readonly maxRequests: number;
  /** Further connections that can be open without an active request; at least 1. */
  readonly spare: number;
  /** Maximum number of connections without an active request, at least 1; default: only the sum is limited. */
  readonly maxWithoutRequest?: number | undefined;
  /** A lower limit for the requests of one kind; absent: only `maxRequests` applies. */
  readonly maxOfKind?: Readonly<Record<string, number>>;
}

interface ConnectionEntry {
  request: RequestState | undefined;
  /** Whether a request was answered on this connection. */
  served: boolean;
}

/**
 * The open connections of one listener. A new connection is always accepted. When the table is full, it evicts the
 * least useful connection. The order is, each time the oldest first:
 *
 * 1. idle: its requests are answered, and no other has begun;
 * 2. incomplete: it has sent nothing, a part of a TLS handshake, or a part of a request;
 * 3. answered: its client does not read the end of a response.
 *
 * A request that has arrived and is not answered yet is never evicted. A request beyond the limit is refused.
 *
 * Invariants: at most `maxRequests` requests are active, at most `maxRequests + spare` connections are open, and of
 * these at most `maxWithoutRequest` have no active request.
 */
export class ConnectionTable<Connection> {
  readonly #limits: ConnectionLimits;
  readonly #evict: (connection: Connection) => void;
  /** The connection that has been idle or incomplete for the longest time is first. */
  readonly #entries = new Map<Connection, ConnectionEntry>();
  /** Connections with an active request, the oldest request first. */
  readonly #inUse = new Map<Connection, RequestState>();

  /** @param evict closes a connection, which is already removed from the table */
  constructor(limits: ConnectionLimits, evict: (connection: Connection) => void) {
    this.#limits = limits;
    this.#evict = evict;
  }

  /** Number of open connections. */
  get size(): number {
    return this.#entries.size;
  }

  /** Number of active requests. */
  get requests(): number {
    return this.#inUse.size;
  }

  /** The open connections. */
  connections(): Iterable<Connection> {
    return this.#entries.keys();
  }

  /** Adds a new connection. */
  add(connection: Connection): void {
    const { maxRequests, spare } = this.#limits;
    if (this.#entries.size >= maxRequests + spare) this.#makeRoom();
    this.#entries.set(connection, { request: undefined, served: false });
    this.#limitWithoutRequest(connection);
  }

  /** Begins a request. Returns false if too many are active, or the connection was evicted. */
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

  /** Ends the request of a connection, whose client has read the response: the connection is idle. */
  end(connection: Connection): void {
    const entry = this.#entries.get(connection);
    if (entry === undefined) return;
    this.#inUse.delete(connection);
    // Moves it to the end of the order.
    this.#entries.delete(connection);
    this.#entries.set(connection, { request: undefined, served: true });
    this.#limitWithoutRequest(connection);
  }

  /** Removes a connection that is closed. */
  delete(connection: Connection): void {
    this.#inUse.delete(connection);
    this.#entries.delete(connection);
  }

  /** @param newest stays, because its client may have just sent its next request */
  #limitWithoutRequest(newest: Connection): void {
    const { maxWithoutRequest = Number.POSITIVE_INFINITY } = this.#limits;
    if (this.#entries.size - this.#inUse.size > maxWithoutRequest)
      this.#makeRoom([isIdle, isSilent], newest);
  }

  #makeRoom(order = [isIdle, isIncomplete, isAnswered], except?: Connection): void {
    for (const isVictim of order) {
      for (const [connection, entry] of this.#entries) {
        if (connection === except || !isVictim(entry)) continue;
        this.#remove(connection);
        return;
      }
    }
  }

  /** Evicts the oldest of these requests that is incomplete, or whose client does not read the response. */
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

function isIdle({ request, served }: ConnectionEntry): boolean {
  return request === undefined && served;
}

/** Without any request so far. */
function isSilent({ request, served }: ConnectionEntry): boolean {
  return request === undefined && !served;
}

function isIncomplete({ request, served }: ConnectionEntry): boolean {
  return request === undefined ? !served : !request.isReceived() && !request.isAnswered();
}

function isAnswered({ request }: ConnectionEntry): boolean {
  return request?.isAnswered() === true;
}
