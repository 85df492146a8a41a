import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ClientConnections } from './client-connections.ts';
import type { ServerCertificate } from './server-certificate.ts';

type Authorities = ReturnType<ServerCertificate['options']>['ca'];

/**
 * Remembers which authorities verified the client certificate of each connection. TLS verifies a certificate once,
 * when the connection opens. The file of authorities may change while the connection is open.
 */
export class ClientAuthorities {
  readonly #certificate: ServerCertificate;
  readonly #connections: ClientConnections;
  /** The authorities in use when each connection was accepted. */
  readonly #accepted = new WeakMap<Socket, Authorities>();

  constructor(server: Server, certificate: ServerCertificate, connections: ClientConnections) {
    this.#certificate = certificate;
    this.#connections = connections;
    server.on('connection', (socket: Socket) => {
      this.#accepted.set(socket, certificate.options().ca);
    });
  }

  /** Whether a request relies on a client certificate that other authorities verified than those in use now. */
  isOutdated({ headers, socket }: IncomingMessage): boolean {
    // A request with a token does not use the certificate.
    if (headers.authorization !== undefined) return false;
    const accepted = this.#connections.acceptedSocket(socket);
    const authorities = accepted && this.#accepted.get(accepted);
    if (authorities === this.#certificate.options().ca) return false;
    return Object.keys((socket as TLSSocket).getPeerCertificate()).length > 0;
  }
}
