import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { OpenSockets } from '../../client/system/open-sockets.ts';
import { type ConnectionLimits, ConnectionTable, type RequestState } from './connection-table.ts';

/** Connections beyond the limit. A request on one of them can still be read and refused. */
const SPARE = 32;

/**
 * The connections of one server, for http or https, limited by a {@link ConnectionTable}. Node's own list does not
 * include connections without a TLS handshake.
 */
export class ClientConnections {
  /** Accepted connections that are open. Over https they are added before the handshake. */
  readonly #table: ConnectionTable<Socket>;
  /** Over https: accepted connections, by the addresses of both ends. */
  readonly #handshakes = new Map<string, Socket>();
  /** The accepted connection of each socket that carries requests. Over https that is the TLS socket. */
  readonly #carriers = new WeakMap<Duplex, Socket>();
  readonly #sockets = new OpenSockets();
  #accepted = 0;

  /** @param onEvicted called when a connection was closed for a new connection, or for another's request */
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
      // The client has disconnected, so the socket has no address any more.
      if (accepted === undefined) socket.destroy();
      else this.#carriers.set(socket, accepted);
    });
  }

  /** Number of open connections. Over https this includes those without a handshake yet. */
  get size(): number {
    return this.#table.size;
  }

  /** Number of connections accepted since the start. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Bytes sent since the start; over https as they are encrypted. */
  get sentBytes(): number {
    return this.#sockets.sent;
  }

  /** The accepted connection of a socket that carries requests; undefined over https before the handshake. */
  acceptedSocket(socket: Duplex): Socket | undefined {
    return this.#carriers.get(socket);
  }

  /** Call when a request begins; see {@link ConnectionTable.begin}. */
  begin(socket: Duplex, request: RequestState): boolean {
    const accepted = this.acceptedSocket(socket);
    return accepted !== undefined && this.#table.begin(accepted, request);
  }

  /** Call when the client has read the response. */
  end(socket: Duplex): void {
    const accepted = this.acceptedSocket(socket);
    if (accepted !== undefined) this.#table.end(accepted);
  }

  destroyAll(): void {
    for (const socket of this.#table.connections()) socket.destroy();
  }

  #add(socket: Socket, isSecure: boolean): void {
    this.#accepted++;
    this.#sockets.add(socket);
    this.#table.add(socket);
    const key = endsOf(socket);
    if (isSecure) this.#handshakes.set(key, socket);
    else this.#carriers.set(socket, socket);
    socket.once('close', () => {
      this.#table.delete(socket);
      if (this.#handshakes.get(key) === socket) this.#handshakes.delete(key);
    });
  }
}

/** A key of an open connection. Over https it is the same before and after the handshake. */
function endsOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}
