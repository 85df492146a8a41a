import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { request as requestOverTls, type RequestOptions as TlsRequestOptions } from 'node:https';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { closedLater } from '../closed-later.ts';

/** A response and its body. */
export interface Answer {
  readonly response: IncomingMessage;
  readonly body: string;
}

/** What a request carries besides its URL; over TLS also how. */
export interface RequestOptions extends Omit<TlsRequestOptions, 'headers' | 'ca'> {
  readonly headers?: OutgoingHttpHeaders | undefined;
  /** The authority that is trusted, as PEM. */
  readonly ca?: string | undefined;
  readonly body?: string | Buffer | undefined;
  /** A bearer token. */
  readonly token?: string | undefined;
}

/** Sends a request on a new connection; resolves with the headers of the response. */
export function open(
  url: URL | string,
  { body, token, headers, ...rest }: RequestOptions = {},
): Promise<IncomingMessage> {
  const send = new URL(url).protocol === 'https:' ? requestOverTls : request;
  const identity = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const options = { agent: false, ...rest, headers: { ...identity, ...headers } };
  return new Promise((resolve, reject) => {
    const outgoing = send(url, options, resolve);
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
  /** All bytes received so far, as latin1. */
  received(): string;
  /** Resolves with all bytes received when the connection is closed for any reason. */
  readonly closed: Promise<string>;
}

/**
 * Opens a connection, over TLS if the URL is https, and writes to it. It is closed after the test.
 *
 * @param tls options of TLS, such as the authority of the server
 */
export function raw(url: URL | string, bytes = '', tls: ConnectionOptions = {}): RawConnection {
  const { protocol, hostname, port } = new URL(url);
  const address = { host: hostname, port: Number(port) };
  const socket = protocol === 'http:' ? connect(address) : connectTls({ ...address, ...tls });
  closedLater({ close: () => socket.destroy() });
  let received = '';
  socket.setEncoding('latin1').on('data', (chunk) => {
    received += chunk;
  });
  socket.on('error', () => {});
  socket.write(bytes, 'latin1');
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)));
  return { socket, received: () => received, closed };
}

/**
 * Resolves with the first bytes that a connection gets, after which it reads nothing. While a client reads, each read
 * widens the kernel's buffers, which on a slow machine then have the rest of the response.
 */
export function readFirst({ socket, received }: RawConnection): Promise<string> {
  return new Promise((resolve) => {
    const finish = (): void => {
      socket.pause();
      resolve(received());
    };
    socket.once('data', finish).once('close', finish);
  });
}

/** Writes bytes; resolves with all bytes received until the other side closes or is quiet for a while. */
export async function exchange(url: URL | string, bytes: string, quietMs = 300): Promise<string> {
  const { socket, closed } = raw(url, bytes);
  // On a busy machine the response may start late; after that it has no pauses.
  let timer = setTimeout(() => socket.destroy(), 30_000);
  socket.on('data', () => {
    clearTimeout(timer);
    timer = setTimeout(() => socket.destroy(), quietMs);
  });
  const received = await closed;
  clearTimeout(timer);
  return received;
}
