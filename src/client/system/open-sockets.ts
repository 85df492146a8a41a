import type { Socket } from 'node:net';

/** Sockets until they are closed, and the bytes of all since the start. */
export class OpenSockets implements Iterable<Socket> {
  readonly #open = new Set<Socket>();
  #received = 0;
  #sent = 0;

  add(socket: Socket): void {
    this.#open.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#received += socket.bytesRead;
      this.#sent += socket.bytesWritten;
    });
  }

  /** Bytes received since the start. Of a TLS socket: what they contain. */
  get received(): number {
    return this.#received + sum(this.#open, ({ bytesRead }) => bytesRead);
  }

  /** The same for bytes sent. */
  get sent(): number {
    return this.#sent + sum(this.#open, ({ bytesWritten }) => bytesWritten);
  }

  [Symbol.iterator](): Iterator<Socket> {
    return this.#open.values();
  }
}

function sum(sockets: ReadonlySet<Socket>, bytes: (socket: Socket) => number): number {
  let total = 0;
  for (const socket of sockets) total += bytes(socket);
  return total;
}
