import { isIP } from 'node:net';
import { hexAddress, listeningRows } from './listen-peers.ts';

/** Less than a line: after those of the listening sockets the kernel goes through all there are, for half a millisecond. */
const READ_BYTES = 96;
/** Sockets that listen on a node, at most; further ones are not looked at. */
const MAX_ROWS = 1024;

/**
 * The connections that wait to be accepted at an address, by all who listen there. Synchronous and, after the
 * first time, so quick that the answer still holds when it is acted upon: what is read ends with the last
 * socket that was found the first time.
 */
export class Backlog {
  readonly #path: string;
  readonly #host: string;
  readonly #port: number;
  /** Sockets at the address, once they have been counted. */
  #sockets = Number.POSITIVE_INFINITY;

  constructor(address: { readonly host: string; readonly port: number }) {
    this.#path = isIP(address.host) === 6 ? '/proc/net/tcp6' : '/proc/net/tcp';
    this.#host = hexAddress(address.host);
    this.#port = address.port;
  }

  /** How many wait; 0 where that is not to be known. */
  count(): number {
    try {
      return this.#count();
    } catch {
      // It is a precaution only.
      return 0;
    }
  }

  #count(): number {
    let [rows, sockets, waiting] = [0, 0, 0];
    for (const row of listeningRows(this.#path, READ_BYTES)) {
      if (++rows > MAX_ROWS) break;
      if (row.port !== this.#port || row.host !== this.#host) continue;
      waiting += row.waiting;
      if (++sockets === this.#sockets) break;
    }
    this.#sockets = sockets;
    return waiting;
  }
}
