import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionLimits, ConnectionTable, type RequestState } from './connection-table.ts';

/** Connections beyond the bound, so that a request over one of them can be read and refused. */
const SPARE = 32;

/**
 * The connections of one server, for http or https, bounded by a {@link ConnectionTable}. What Node lists
 * itself lacks connections without a TLS handshake and those that have switched protocols.
 */
export class ClientConnections {
  /** All that is accepted and not evicted, over https from before the handshake. */
  readonly #table: ConnectionTable<Socket>;
  /** All that is accepted and open. */
  readonly #sockets = new Set<Socket>();
  /** Over https: connections without a handshake yet, by the addresses of both ends. */
  readonly #handshakes = new Map<string, Socket>();
  /** What carries requests, over https after the handshake: the connection that was accepted for it. */
  readonly #carriers = new WeakMap<Duplex, Socket>();
  #accepted = 0;

  /** @param onEvicted called when a connection has been closed for a new one, or for another's request */
  constructor(
    server: Server,
    isSecure: boolean,
    limits: Omit<ConnectionLimits, 'spare'>,
    onEvicted: () => void,
  ) {
    this.#table = new ConnectionTable({ ...limits, spare: SPARE }, (socket) => {
      socket.destroy();
      onEvicted();
    });
    server.on('connection', (socket: Socket) => this.#add(socket, isSecure));
    server.on('secureConnection', (socket: Socket) => {
      const accepted = this.#handshakes.get(endsOf(socket));
      // Its peer has gone, so that it has no address any more.
      if (accepted === undefined) socket.destroy();
      else this.#carriers.set(socket, accepted);
    });
  }

  /** Connections that are open, over https also those without a handshake yet. */
  get size(): number {
    return this.#sockets.size;
  }

  /** Connections accepted since the start. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Whether requests can come on it: over https only after the handshake. */
  isEstablished(socket: Duplex): boolean {
    return this.#carriers.has(socket);
  }

  /** A request begins; see {@link ConnectionTable.begin}. */
  begin(socket: Duplex, request: RequestState): boolean {
    const accepted = this.#carriers.get(socket);
    return accepted !== undefined && this.#table.begin(accepted, request);
  }

  /** The answer to the request of a connection has been taken. */
  end(socket: Duplex): void {
    const accepted = this.#carriers.get(socket);
    if (accepted !== undefined) this.#table.end(accepted);
  }

  destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #add(socket: Socket, isSecure: boolean): void {
    this.#accepted++;
    this.#sockets.add(socket);
    this.#table.add(socket);
    const key = endsOf(socket);
    if (isSecure) this.#handshakes.set(key, socket);
    else this.#carriers.set(socket, socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#table.delete(socket);
      if (this.#handshakes.get(key) === socket) this.#handshakes.delete(key);
    });
  }
}

/** Tells a connection from all others that are open; over https the same before and after the handshake. */
function endsOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}
