import { subscribe } from 'node:diagnostics_channel';
import { type ClientHttp2Stream, constants } from 'node:http2';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
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

/** The connection was established, but no response started in time. */
export class NoResponse extends Error {}

/**
 * The server has not processed the request, or it does no harm to process it again. The cause is the error of the
 * connection.
 */
export class Unprocessed extends Error {}

/** What an exchange knows of its connection. */
export interface ExchangeConnection {
  readonly isConnected: boolean;
  readonly isHttp2: boolean;
  readonly isLostInUse: boolean;
  readonly headersMs: number;
  onStream(stream: ClientHttp2Stream): void;
  onAnswer(): void;
  onEnd(exchange: Exchange): void;
}

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants;
/** Kube-apiserver sends none; gateways send a few (100, 102, 103). */
const MAX_INFORMATIONAL = 16;
/** Names us in the API server's audit log and priority levels. Forwarded requests keep the caller's name. */
const USER_AGENT = `kube-proxy-wrapper/${VERSION}`;

/** The exchange whose stream undici opens in this turn. */
let starting: Exchange | undefined;

subscribe('http2.client.stream.created', (message) => {
  const { stream } = message as { readonly stream: ClientHttp2Stream };
  const exchange = starting;
  starting = undefined;
  exchange?.onStream(stream);
});

/**
 * One request on one connection: what undici calls.
 *
 *     queued ── sent ──▶ waiting ── headers ──▶ reading ── last byte ──▶ ended
 *       │                   │                      │                       ▲
 *       └───────────────────┴── abort, error ──────┴───────────────────────┘
 *
 * Of HTTP/2 it also gets the stream, because undici 8 takes a body that RST_STREAM CANCEL breaks off for complete, and
 * puts requests that a GOAWAY refuses into a queue that is never sent.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Rejects with {@link NoResponse}, {@link Unprocessed} and errors of the network. */
  readonly response: Promise<AgentResponse>;
  readonly #request: AgentRequest;
  readonly #connection: ExchangeConnection;
  readonly #resolve: (response: AgentResponse) => void;
  readonly #reject: (error: unknown) => void;
  readonly #onAbort = () => this.#abort();
  #controller: Dispatcher.DispatchController | undefined;
  #stream: ClientHttp2Stream | undefined;
  #body: Readable | undefined;
  #lateTimer: NodeJS.Timeout | undefined;
  #informational = 0;
  #isEnded = false;

  constructor(request: AgentRequest, connection: ExchangeConnection) {
    this.#request = request;
    this.#connection = connection;
    const { promise, resolve, reject } = Promise.withResolvers<AgentResponse>();
    this.response = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    request.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  onStream(stream: ClientHttp2Stream): void {
    this.#stream = stream;
    this.#connection.onStream(stream);
    stream.once('close', () => {
      // Undici may have opened another one in its place.
      if (this.#stream === stream) this.lose(codeError(stream));
    });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isEnded) {
      controller.abort(new Error('it has ended'));
      return;
    }
    if (this.#connection.isHttp2) this.#awaitStream();
    const { headersMs } = this.#connection;
    const late = new NoResponse(`no response within ${headersMs / 1000} s`);
    this.#lateTimer ??= setTimeout(() => this.end(late), headersMs);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: ResponseHeaders,
  ): void {
    if (statusCode < 200) {
      this.#informational++;
      if (this.#informational > MAX_INFORMATIONAL)
        this.end(new NoResponse(`more than ${MAX_INFORMATIONAL} responses of 1xx`));
      return;
    }
    clearTimeout(this.#lateTimer);
    this.#connection.onAnswer();
    this.#body = new Readable({
      read: () => controller.resume(),
      destroy: (error, callback) => {
        this.#request.signal.removeEventListener('abort', this.#onAbort);
        this.end(error ?? new Error('the response was not read to its end'));
        callback(error);
      },
    });
    // It may fail before it is read: its reader gets the error. Without a listener it would end the process.
    this.#body.on('error', () => {});
    this.#resolve({ statusCode, headers, body: this.#body });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body?.push(chunk) === false) controller.pause();
  }

  onResponseEnd(): void {
    const stream = this.#stream;
    if (this.#connection.isHttp2 && !isComplete(stream)) {
      this.lose(codeError(stream));
      return;
    }
    this.#finish();
    this.#body?.push(null);
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.lose(error);
  }

  /** Ends it because of an error of the network. */
  lose(error: Error): void {
    if (this.#isEnded) return;
    const { isConnected, isHttp2 } = this.#connection;
    const isUnsent = this.#controller === undefined || (isHttp2 && this.#stream?.id === undefined);
    const isRefused = this.#stream?.rstCode === NGHTTP2_REFUSED_STREAM;
    // The server may close a connection just when it is used again (RFC 9110 section 9.2.1 about safe methods).
    const { method } = this.#request;
    const isSafe = method === 'GET' || method === 'HEAD';
    const mayRepeat =
      (isConnected && isUnsent) || isRefused || (this.#connection.isLostInUse && isSafe);
    this.end(mayRepeat ? new Unprocessed('', { cause: error }) : error);
  }

  /** Ends it. The server is notified if it still answers. */
  end(error: Error): void {
    if (this.#isEnded) return;
    this.#finish();
    if (this.#body === undefined) {
      this.#request.signal.removeEventListener('abort', this.#onAbort);
      this.#reject(error);
    } else {
      this.#body.destroy(error);
    }
    const stream = this.#stream;
    if (stream !== undefined && !stream.closed) stream.close(NGHTTP2_CANCEL);
    this.#controller?.abort(error);
  }

  #abort(): void {
    const { reason } = this.#request.signal;
    this.end(reason);
    // All of it may have arrived, and be read now.
    this.#body?.destroy(reason);
  }

  #finish(): void {
    this.#isEnded = true;
    clearTimeout(this.#lateTimer);
    this.#connection.onEnd(this);
  }

  #awaitStream(): void {
    this.#stream = undefined;
    starting = this;
    queueMicrotask(() => {
      if (starting === this) starting = undefined;
    });
  }
}

/** Whether the server has sent the whole body, if the stream has ended. */
function isComplete(stream: ClientHttp2Stream | undefined): boolean {
  // A stream is destroyed before its end if its connection is reset after a graceful GOAWAY (socketOnError in
  // lib/internal/http2/core.js).
  return stream?.rstCode === NGHTTP2_NO_ERROR && !stream.destroyed;
}

function codeError(stream: ClientHttp2Stream | undefined): Error {
  return new Error(`the stream was closed with code ${stream?.rstCode}`);
}

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
