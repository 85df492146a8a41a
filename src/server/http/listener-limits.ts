/** What one listener accepts from its clients at most. */
export interface ListenerLimits {
  /** Connections in use at the same time (maxConnections). */
  readonly maxConnections: number;
  /** Connections without an active request, at most; default: `maxConnections` less those in use, and 32. */
  readonly maxWithoutRequest?: number;
  /** Bytes of the headers of one request. */
  readonly maxHeaderBytes: number;
  /**
   * How long the headers of a request may take to arrive, in milliseconds. Over https the
   * TLS handshake before them may take as long.
   */
  readonly headersTimeoutMs: number;
  /** How long a whole request may take to arrive, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/**
 * The defaults. 16 KiB of headers are the default of Go and of Node.js; a token has some 1 to 2 KiB. A client on the
 * same machine sends its headers in milliseconds.
 */
export const DEFAULT_LISTENER_LIMITS: ListenerLimits = {
  maxConnections: 256,
  maxHeaderBytes: 16 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
};
