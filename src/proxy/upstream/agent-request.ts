import type { Readable } from 'node:stream';
import { VERSION } from '../../version.ts';
import type { ResponseHeaders } from './upstream-body.ts';

export interface AgentRequest {
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
  /** Ends the request, also while its body is read. */
  readonly signal: AbortSignal;
}

export interface AgentResponse {
  readonly statusCode: number;
  readonly headers: ResponseHeaders;
  readonly body: Readable;
}

/** Requests of one identity to one server over one protocol. */
export interface Connections {
  /**
   * Resolves with the headers of the response. Rejects with {@link NoResponse}, {@link Unprocessed} and errors of the
   * network.
   */
  request(request: AgentRequest): Promise<AgentResponse>;
  /** Closes idle connections. Open requests end on theirs, which are then closed too. */
  close(): void;
  /** Destroys all connections, and so ends all requests. */
  destroy(): void;
}

/** Times in milliseconds. */
export interface AgentTimes {
  /** Time limit for a connection, TLS and the server's first SETTINGS included. */
  readonly connectMs: number;
  /** Time limit for the start of a response. */
  readonly headersMs: number;
  /** A quiet connection of HTTP/1.1 is probed by TCP keep-alive after this time. */
  readonly probeMs: number;
  /** An idle connection is kept for this time. */
  readonly idleMs: number;
  /** A PING is sent after this time without a byte from the server, or up to an eighth of it later. */
  readonly quietMs: number;
  /** Time limit for the response to a PING. */
  readonly pingMs: number;
}

/** The connection was established, but no response started in time. */
export class NoResponse extends Error {}

/**
 * The server has not processed the request, or it does no harm to process it again. The cause is the error of the
 * connection.
 */
export class Unprocessed extends Error {}

/** kube-apiserver sends none; gateways send a few (100, 102, 103). */
const MAX_INFORMATIONAL = 16;

/** Returns a function to call with each informational response (1xx). It ends a request that gets nothing else. */
export function limitInformational(end: (error: Error) => void): () => void {
  let count = 0;
  return () => {
    count++;
    if (count > MAX_INFORMATIONAL)
      end(new NoResponse(`more than ${MAX_INFORMATIONAL} responses of 1xx`));
  };
}

/** Whether a request may be repeated although the server may have processed it (RFC 9110 section 9.2.1). */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Whether the server, or something on the way, has closed the connection. */
export function isReset(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'ERR_HTTP2_SOCKET_UNBOUND';
}

/** Names us in the API server's audit log and priority levels. Forwarded requests keep the caller's name. */
const USER_AGENT = `kube-proxy-wrapper/${VERSION}`;

/** Builds a request to a server: its path comes before that of the request, and the identity's headers win. */
export function createAgentRequest(
  { pathname }: URL,
  request: Pick<AgentRequest, 'method' | 'path'> & Partial<Pick<AgentRequest, 'headers' | 'body'>>,
  identity: AgentRequest['headers'],
  signal: AbortSignal,
): AgentRequest {
  return {
    path: pathname.replace(/\/$/, '') + request.path,
    method: request.method,
    headers: { 'user-agent': USER_AGENT, ...request.headers, ...identity },
    body: request.body,
    signal,
  };
}
