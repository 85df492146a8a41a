import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';

/** A response and its body. */
export interface Answer {
  readonly response: IncomingMessage;
  readonly body: string;
}

/** Sends a request on a new connection; resolves with the headers of the response. */
export function open(
  url: URL | string,
  options: RequestOptions & { readonly body?: string } = {},
): Promise<IncomingMessage> {
  const { body, ...rest } = options;
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent: false, ...rest }, resolve);
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}

/** Sends a request and reads the whole response. */
export async function ask(...args: Parameters<typeof open>): Promise<Answer> {
  const response = await open(...args);
  return { response, body: await text(response) };
}

/** A connection for raw bytes. */
export interface RawConnection {
  readonly socket: Socket;
  /** All bytes received so far. */
  received(): string;
  /** Resolves when the connection is closed for any reason. */
  readonly closed: Promise<void>;
}

/** Opens a connection and writes to it. */
export function raw(url: URL, bytes: string): RawConnection {
  const socket = connect(Number(url.port), url.hostname);
  let received = '';
  socket.setEncoding('latin1').on('data', (chunk) => {
    received += chunk;
  });
  socket.on('error', () => {});
  socket.write(bytes);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return { socket, received: () => received, closed };
}
