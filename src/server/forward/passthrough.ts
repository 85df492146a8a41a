import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { readUrl } from '../../client/api/request-url.ts';
import type { ServerAccess } from '../../client/credentials/credentials.ts';
import { unreachable } from '../../client/upstream/upstream-error.ts';
import { WrapperError } from '../../errors.ts';
import { requestHeaders } from './passthrough-headers.ts';
import { ProxyTargets } from './proxy-targets.ts';
import { type Exchange, RepairedHttpProxy } from './repaired-http-proxy.ts';

/*
 * The room forward: forwards requests of https to the API server. It authorizes nothing: that has happened before.
 *   passthrough.ts           what is sent, and which error the caller gets
 *   passthrough-headers.ts   which headers are forwarded, in both directions
 *   proxy-targets.ts         the API server in use, and its connections
 *   repaired-http-proxy.ts   http-proxy, without its faults
 */

export interface PassthroughOptions {
  readonly serverAccess: ServerAccess;
  /** Answers a request that could not be forwarded. Nothing has been written to the response yet. */
  readonly onError: (
    error: WrapperError,
    request: IncomingMessage,
    response: ServerResponse,
  ) => void;
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
}

/** An API server ends a request that is not long-running after 60 s (--request-timeout), with a response. */
const FORWARDED_HEADERS_MS = 70_000;
/**
 * Long-running requests whose response may start late, such as the log of a silent Pod (BasicLongRunningRequestCheck
 * in apiserver endpoints/filters). They have no time limit; TCP keep-alive finds a peer that is gone.
 */
const LONG_RUNNING =
  /^\/api\/v1\/(nodes\/[^/]+|namespaces\/[^/]+\/(pods|services)\/[^/]+)\/(log|proxy)(\/|$)/;
/** Methods of requests that can be repeated in any case (RFC 9110 section 9.2.1). */
const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Forwards requests to the API server with the caller's own credentials: method, path and body unchanged, and headers
 * of an allow-list. Our own credentials and our client certificate are never sent. It connects at the first request.
 */
export class Passthrough {
  readonly #options: PassthroughOptions;
  readonly #targets: ProxyTargets;
  readonly #proxy = new RepairedHttpProxy();

  constructor(options: PassthroughOptions) {
    this.#options = options;
    this.#targets = new ProxyTargets(options.serverAccess);
  }

  /** Forwards a request, with its path byte for byte. The caller has already been authorized. */
  forward(request: IncomingMessage, response: ServerResponse, options: ForwardOptions = {}): void {
    let isSent = false;
    const onSent = (): void => {
      isSent = true;
    };
    const onError = (error: unknown): void => {
      const isLost = isSent && !SAFE_METHODS.includes(request.method ?? '');
      this.#fail(isLost ? unanswered(this.#explain(error)) : error, request, response);
    };
    try {
      const exchange = this.#exchange(request, options);
      this.#proxy.web(request, response, { ...exchange, onSent, onError });
    } catch (error) {
      this.#fail(error, request, response);
    }
  }

  /** Ends all requests and connections, including those of clients whose response is not complete. */
  async close(): Promise<void> {
    await this.#proxy.close();
    this.#targets.close();
  }

  #exchange(request: IncomingMessage, { body, accept }: ForwardOptions): Omit<Exchange, 'onError'> {
    const { url = '' } = request;
    // http-proxy would use the path of an absolute URL (the form for proxies).
    if (!url.startsWith('/'))
      throw new WrapperError('BadRequest', 'the request target is not a path');
    const proxyTarget = this.#targets.current();
    const { target, host } = proxyTarget;
    const { headersMs = FORWARDED_HEADERS_MS } = this.#options;
    const bodyLength = body?.length;
    return {
      proxyTarget,
      body,
      headersMs: LONG_RUNNING.test(readUrl(request).path) ? undefined : headersMs,
      headers: requestHeaders(request, { host, accept, bodyLength }),
      path: target.path + url,
    };
  }

  #fail(error: unknown, request: IncomingMessage, response: ServerResponse): void {
    // Both sides of one exchange may report an error; the response to the first one may be under way.
    if (response.writableEnded) return;
    const explained = this.#explain(error);
    if (response.headersSent) {
      const path = request.url;
      this.#options.logger.debug({ path, err: explained.message }, 'a response ended halfway');
      response.destroy();
    } else if (!response.destroyed) {
      this.#options.onError(explained, request, response);
    }
  }

  #explain(error: unknown): WrapperError {
    const [server] = this.#options.serverAccess.servers;
    return server === undefined
      ? WrapperError.from(error, 'Unreachable')
      : unreachable(error, server);
  }
}

/**
 * The request reached the API server, which may have carried it out, so the client must decide whether to repeat it.
 */
function unanswered(error: WrapperError): WrapperError {
  const message = `${error.message}; it is not known whether the request was carried out`;
  return new WrapperError('Unanswered', message, { cause: error });
}
