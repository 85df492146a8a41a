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

/** Answers a request that could not be forwarded. Nothing has been written to the response yet. */
export type PassthroughErrorHandler = (
  error: WrapperError,
  request: IncomingMessage,
  response: ServerResponse,
) => void;

export interface PassthroughOptions {
  readonly credentials: Credentials;
  readonly onError: PassthroughErrorHandler;
  /**
   * `own` (the default): the caller's credentials are removed, and ours are added. `caller`: the caller's own
   * credentials are forwarded, without our headers and without our client certificate.
   */
  readonly identity?: Identity;
  /** Time limit for the start of a response of the API server, in milliseconds; default 70,000. */
  readonly headersMs?: number;
  readonly logger: Logger;
}

/** What differs from the caller's request. */
export interface ForwardOptions {
  /** The whole body, if it was read already; absent: it is streamed. */
  readonly body?: Buffer;
  /** Replaces the Accept header. */
  readonly accept?: string;
  /** Called with the status when the API server answers. */
  readonly onAnswer?: (statusCode: number) => void;
}

/** Forwards requests to the API server: method, path and body unchanged, and headers of an allow-list. */
export interface Passthrough {
  /** Forwards a request, with its path byte for byte. The caller has already been authorized. */
  forward(request: IncomingMessage, response: ServerResponse, options?: ForwardOptions): void;
  /** Forwards a request to switch protocols. Refused with our own identity, because that is not lent to callers. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Answers a request to switch protocols with 403 and ends the connection. */
  refuseUpgrade(socket: Duplex): void;
  /** Ends all requests and connections, including those of clients whose response is not complete. */
  close(): Promise<void>;
}

/** An API server ends a request that is not long-running after 60 s (--request-timeout), with a response. */
const HEADERS_MS = 70_000;
/**
 * Long-running requests whose response may start late, such as the log of a silent Pod (BasicLongRunningRequestCheck
 * in apiserver endpoints/filters). They have no time limit; TCP keep-alive finds a peer that is gone.
 */
const LONG_RUNNING =
  /^\/api\/v1\/(nodes\/[^/]+|namespaces\/[^/]+\/(pods|services)\/[^/]+)\/(log|proxy)(\/|$)/;
/** Methods of requests that can be repeated in any case (RFC 9110 section 9.2.1). */
const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS'];

/** Creates the passthrough. It connects when the first request is forwarded. */
export function createPassthrough(options: PassthroughOptions): Passthrough {
  return new HttpPassthrough(options);
}

class HttpPassthrough implements Passthrough {
  readonly #options: PassthroughOptions;
  readonly #identity: Identity;
  readonly #targets: ProxyTargets;
  readonly #proxy: RepairedHttpProxy;

  constructor(options: PassthroughOptions) {
    this.#options = options;
    this.#identity = options.identity ?? 'own';
    this.#targets = new ProxyTargets(options.credentials, this.#identity);
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
    this.#targets.close();
  }

  async #forward(
    request: IncomingMessage,
    response: ServerResponse,
    options: ForwardOptions,
  ): Promise<void> {
    const own = this.#identity === 'own' ? await this.#options.credentials.headers() : {};
    // The client may have gone while a credential plugin ran.
    if (response.destroyed) return;
    let isSent = false;
    const onError = (error: unknown): void => {
      const isLost = isSent && !SAFE_METHODS.includes(request.method ?? '');
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
    // http-proxy would use the path of an absolute URL (the form for proxies).
    if (!url.startsWith('/'))
      throw new WrapperError('BadRequest', 'the request target is not a path');
    const proxyTarget = this.#targets.current();
    const identity = this.#identity;
    const { target, host } = proxyTarget;
    const { headersMs = HEADERS_MS } = this.#options;
    const { body, onAnswer, onError } = options;
    return {
      proxyTarget,
      ...(body === undefined ? {} : { body }),
      headersMs: LONG_RUNNING.test(readUrl(request).path) ? undefined : headersMs,
      headers: requestHeaders(request, { ...options, identity, host, bodyLength: body?.length }),
      path: target.path + url,
      onAnswer: (statusCode) => {
        this.#refreshAfter(statusCode);
        onAnswer?.(statusCode);
      },
      onError,
    };
  }

  /** After a 401 the request cannot be sent again, because its body is gone. The next request gets new credentials. */
  #refreshAfter(statusCode: number): void {
    if (statusCode === 401 && this.#identity === 'own') void this.#options.credentials.refresh();
  }

  #fail(error: unknown, request: IncomingMessage, response: ServerResponse): void {
    // Both sides of one exchange may report an error; the response to the first one may be under way.
    if (response.writableEnded) return;
    const problem = this.#explain(error);
    if (response.headersSent) {
      const path = request.url;
      this.#options.logger.debug({ path, err: problem.message }, 'a response ended halfway');
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

/** The request reached the API server, which may have carried it out, so the client must decide whether to repeat it. */
function unanswered(error: WrapperError): WrapperError {
  const problem = `${error.message}; it is not known whether the request was carried out`;
  return new WrapperError('Unanswered', problem, { cause: error });
}
