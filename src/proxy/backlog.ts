import { closeSync, openSync, readSync } from 'node:fs';
import { isIP } from 'node:net';
import { hexAddress, type Row, rowsOf } from './listen-peers.ts';

/**
 * Less than a line of the table is asked for at a time: the kernel makes no line before it is asked for
 * (seq_file), and after those of the listening sockets it goes through all there are, for half a millisecond.
 */
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
    let [sockets, waiting] = [0, 0];
    for (const row of listeningRows(this.#path)) {
      if (row.port !== this.#port || row.host !== this.#host) continue;
      waiting += row.waiting;
      if (++sockets === this.#sockets) break;
    }
    this.#sockets = sockets;
    return waiting;
  }
}

/** Listening sockets as the kernel lists them: before all others. */
function* listeningRows(path: string): Generator<Row, void, undefined> {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch {
    // Not Linux, or no IPv6: it is a precaution only.
    return;
  }
  try {
    const buffer = Buffer.alloc(READ_BYTES);
    let text = '';
    let isHeader = true;
    for (let rows = 0; rows < MAX_ROWS; ) {
      const bytes = readSync(fd, buffer);
      text += buffer.toString('latin1', 0, bytes);
      const end = text.indexOf('\n');
      if (end === -1 && bytes > 0) continue;
      if (end === -1) return;
      const [row] = rowsOf(text.slice(0, end));
      text = text.slice(end + 1);
      if (row !== undefined) yield row;
      else if (!isHeader) return;
      isHeader = false;
      rows++;
    }
  } finally {
    closeSync(fd);
  }
}
