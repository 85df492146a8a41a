import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ServerCertificate } from './server-certificate.ts';

type Authorities = ReturnType<ServerCertificate['options']>['ca'];

/**
 * Remembers which authorities verified the client certificate of each connection. TLS verifies a certificate once,
 * when the connection opens. The file of authorities may change while the connection is open.
 */
export class ClientAuthorities {
  readonly #certificate: ServerCertificate;
  /** The authorities in use when each connection was accepted, by the address of the client. */
  readonly #accepted = new Map<string, Authorities>();
  readonly #secured = new WeakMap<Socket, Authorities>();

  constructor(server: Server, certificate: ServerCertificate) {
    this.#certificate = certificate;
    server.on('connection', (socket: Socket) => {
      // The client has already disconnected: its address is unknown.
      if (socket.remotePort === undefined) return;
      const address = addressOf(socket);
      this.#accepted.set(address, certificate.options().ca);
      socket.once('close', () => this.#accepted.delete(address));
    });
    server.on('secureConnection', (socket: TLSSocket) => {
      this.#secured.set(socket, this.#accepted.get(addressOf(socket)));
    });
  }

  /** Whether a request relies on a client certificate that other authorities verified than those in use now. */
  isOutdated({ headers, socket }: IncomingMessage): boolean {
    // A request with a token does not use the certificate.
    if (headers.authorization !== undefined) return false;
    if (this.#secured.get(socket) === this.#certificate.options().ca) return false;
    return Object.keys((socket as TLSSocket).getPeerCertificate()).length > 0;
  }
}

function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
