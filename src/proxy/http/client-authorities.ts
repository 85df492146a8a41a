import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ServerCertificate } from './server-certificate.ts';

type Authorities = ReturnType<ServerCertificate['options']>['ca'];

/**
 * Remembers by which authorities the client certificate of each connection was verified: TLS does so once, when
 * the connection is opened, and the file of authorities may change while it is.
 */
export class VerifiedBy {
  readonly #certificate: ServerCertificate;
  /** From when a connection is accepted, for that decides, by the address of the client. */
  readonly #accepted = new Map<string, Authorities>();
  readonly #secured = new WeakMap<Socket, Authorities>();

  constructor(server: Server, certificate: ServerCertificate) {
    this.#certificate = certificate;
    server.on('connection', (socket: Socket) => {
      // Of a client that has gone already nothing is known.
      if (socket.remotePort === undefined) return;
      const address = addressOf(socket);
      this.#accepted.set(address, certificate.options().ca);
      socket.once('close', () => this.#accepted.delete(address));
    });
    server.on('secureConnection', (socket: TLSSocket) => {
      this.#secured.set(socket, this.#accepted.get(addressOf(socket)));
    });
  }

  /** Whether a request counts on a client certificate that was verified by other authorities than those of now. */
  isOutdated({ headers, socket }: IncomingMessage): boolean {
    // A token comes before a certificate.
    if (headers.authorization !== undefined) return false;
    if (this.#secured.get(socket) === this.#certificate.options().ca) return false;
    return Object.keys((socket as TLSSocket).getPeerCertificate()).length > 0;
  }
}

function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
