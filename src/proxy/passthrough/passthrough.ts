import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { readUrl } from '../api/request-url.ts';
import type { Credentials } from '../credentials/credentials.ts';
import { unreachable } from '../upstream/upstream-error.ts';
import { type Identity, requestHeaders } from './passthrough-headers.ts';
import { ProxyTargets } from './proxy-targets.ts';
import { type Exchange, RepairedHttpProxy } from './repaired-http-proxy.ts';

/** Answers a request that could not be passed on; nothing has been written to the response yet. */
export type PassthroughErrorHandler = (
  error: WrapperError,
  request: IncomingMessage,
  response: ServerResponse,
) => void;

export interface PassthroughOptions {
  readonly credentials: Credentials;
  readonly onError: PassthroughErrorHandler;
  /**
   * `own` (the default): what proves the caller's identity is cut, and our credentials are added. `caller`:
   * the caller's own headers go through, with none of ours and without our client certificate.
   */
  readonly identity?: Identity;
  /** How long the API server may take to begin an answer, in milliseconds; default 70,000. */
  readonly headersMs?: number;
  readonly logger: Logger;
}

/** What is sent otherwise than the caller has it. */
export interface ForwardOptions {
  /** The whole body, which was read already; absent: it is streamed as it comes. */
  readonly body?: Buffer;
  /** Replaces the Accept header. */
  readonly accept?: string;
  /** Called when the API server answers, with the status. */
  readonly onAnswer?: (statusCode: number) => void;
}

/** Passes requests on to the API server: method, path and body as they are, and headers of an allow-list. */
export interface Passthrough {
  /** Passes a request on. Whether it may be is decided before; the path is sent byte for byte. */
  forward(request: IncomingMessage, response: ServerResponse, options?: ForwardOptions): void;
  /** Passes on a request to switch protocols; refused under our own identity, which is lent to nobody. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Answers a request to switch protocols with 403 and ends the connection. */
  refuseUpgrade(socket: Duplex): void;
  /** Ends all requests and connections, those of clients mid-answer too. */
  close(): Promise<void>;
}

/** An API server gives a request that is not long-running 60 s (--request-timeout), and then says so itself. */
const HEADERS_MS = 70_000;
/**
 * What an API server takes for long-running and answers only when there is something to say: the log of a silent Pod
 * (BasicLongRunningRequestCheck in apiserver endpoints/filters). Of a peer that is gone TCP keep-alive tells.
 */
const LONG_RUNNING =
  /^\/api\/v1\/(nodes\/[^/]+|namespaces\/[^/]+\/(pods|services)\/[^/]+)\/(log|proxy)(\/|$)/;
/** What may be sent again, whatever became of it. */
const SAFE = ['GET', 'HEAD', 'OPTIONS'];

/** Opens the way through; connects only when the first request is passed on. */
export function createPassthrough(options: PassthroughOptions): Passthrough {
  return new HttpPassthrough(options);
}

class HttpPassthrough implements Passthrough {
  readonly #options: PassthroughOptions;
  readonly #identity: Identity;
  readonly #destinations: ProxyTargets;
  readonly #proxy: RepairedHttpProxy;

  constructor(options: PassthroughOptions) {
    this.#options = options;
    this.#identity = options.identity ?? 'own';
    this.#destinations = new ProxyTargets(options.credentials, this.#identity);
    this.#proxy = new RepairedHttpProxy();
  }

  forward(request: IncomingMessage, response: ServerResponse, options: ForwardOptions = {}): void {
    this.#forward(request, response, options).catch((error) =>
      this.#fail(error, request, response),
    );
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (this.#identity === 'own') {
      this.refuseUpgrade(socket);
      return;
    }
    const onError = (error: unknown): void => {
      if (socket.destroyed) return;
      const { message } = this.#explain(error);
      this.#options.logger.warn({ path: request.url, err: message }, 'an upgrade failed');
      socket.destroy();
    };
    try {
      const exchange = this.#exchange(request, { own: {}, upgrade: true, onError });
      this.#proxy.ws(request, socket, head, exchange);
    } catch (error) {
      onError(error);
    }
  }

  refuseUpgrade(socket: Duplex): void {
    socket.on('error', () => {});
    socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
  }

  async close(): Promise<void> {
    await this.#proxy.close();
    this.#destinations.close();
  }

  async #forward(
    request: IncomingMessage,
    response: ServerResponse,
    options: ForwardOptions,
  ): Promise<void> {
    const own = this.#identity === 'own' ? await this.#options.credentials.headers() : {};
    // A client may go away while a credential plugin runs.
    if (response.destroyed) return;
    let isSent = false;
    const onError = (error: unknown): void => {
      const isLost = isSent && !SAFE.includes(request.method ?? '');
      this.#fail(isLost ? unanswered(this.#explain(error)) : error, request, response);
    };
    const exchange = this.#exchange(request, { ...options, own, upgrade: false, onError });
    const onSent = (): void => {
      isSent = true;
    };
    this.#proxy.web(request, response, { ...exchange, onSent });
  }

  #exchange(
    request: IncomingMessage,
    options: ForwardOptions & {
      /** Headers that authenticate us. */
      readonly own: Readonly<Record<string, string>>;
      readonly upgrade: boolean;
      readonly onError: (error: unknown) => void;
    },
  ): Exchange {
    const { url = '' } = request;
    // Of a whole URL, the form for proxies, http-proxy would take the path.
    if (!url.startsWith('/')) throw new WrapperError('BadRequest', 'the request target is no path');
    const destination = this.#destinations.current();
    const identity = this.#identity;
    const { target, host } = destination;
    const { headersMs = HEADERS_MS } = this.#options;
    const { body, onAnswer, onError } = options;
    return {
      destination,
      ...(body === undefined ? {} : { body }),
      headersMs: LONG_RUNNING.test(readUrl(request).path) ? undefined : headersMs,
      headers: requestHeaders(request, { ...options, identity, host, bodyLength: body?.length }),
      path: target.path + url,
      onAnswer: (statusCode) => {
        this.#notice(statusCode);
        onAnswer?.(statusCode);
      },
      onError,
    };
  }

  /** After a 401 the request can't be sent again, for its body is gone; but the next one shall succeed. */
  #notice(statusCode: number): void {
    if (statusCode === 401 && this.#identity === 'own') void this.#options.credentials.refresh();
  }

  #fail(error: unknown, request: IncomingMessage, response: ServerResponse): void {
    // Both sides of one exchange may report an error; the answer to the first may be on its way.
    if (response.writableEnded) return;
    const problem = this.#explain(error);
    if (response.headersSent) {
      const path = request.url;
      this.#options.logger.debug({ path, err: problem.message }, 'an answer ended halfway');
      response.destroy();
    } else if (!response.destroyed) {
      this.#options.onError(problem, request, response);
    }
  }

  #explain(error: unknown): WrapperError {
    const [server] = this.#options.credentials.servers;
    return server === undefined
      ? WrapperError.from(error, 'Unreachable')
      : unreachable(error, server);
  }
}

/** A request that the API server may have carried out, for it reached it, shall not be sent again unasked. */
function unanswered(error: WrapperError): WrapperError {
  const problem = `${error.message}; whether the request was carried out is not known`;
  return new WrapperError('Unanswered', problem, { cause: error });
}
