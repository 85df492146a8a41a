import type {
  ClientRequest,
  IncomingHttpHeaders,
  IncomingMessage,
  ServerResponse,
} from 'node:http';
import { Readable } from 'node:stream';
import httpProxy from 'http-proxy';
import { WrapperError } from '../../errors.ts';
import { responseHeaders } from './passthrough-headers.ts';
import type { ProxyTarget } from './proxy-targets.ts';

/** How one request is forwarded. */
export interface Exchange {
  readonly proxyTarget: ProxyTarget;
  readonly headers: IncomingHttpHeaders;
  /** The whole body; absent: the body of the request, streamed. */
  readonly body?: Buffer;
  /** Path and query, sent byte for byte. */
  readonly path: string;
  /** Time limit for the start of the response, in milliseconds; undefined: no limit while the connection is open. */
  readonly headersMs: number | undefined;
  /** Called when the connection is established, TLS included: from now on the API server may act. */
  readonly onSent?: () => void;
  /** Called for each error: possibly more than once, and possibly after the headers were written. */
  readonly onError: (error: unknown) => void;
}

/** The passes of http-proxy, which its types leave out: functions, identified by their names. */
interface Passes {
  webPasses: readonly { readonly name: string }[];
}

const TCP_KEEP_ALIVE_MS = 30_000;

/** http-proxy 1.18.1, repaired from outside. Beside each repair stands what breaks without it. */
export class RepairedHttpProxy {
  readonly #proxy = httpProxy.createProxyServer();
  readonly #exchanges = new WeakMap<IncomingMessage, Exchange>();
  /** Requests to the API server. */
  readonly #active = new Set<ClientRequest>();
  #closed = false;

  constructor() {
    const passes = this.#proxy as unknown as Passes;
    // deleteLength gives a chunked DELETE or OPTIONS the length 0. Its body then passes for the next request (request
    // smuggling).
    passes.webPasses = passes.webPasses.filter(({ name }) => name !== 'deleteLength');
    this.#proxy.on('proxyReq', (outgoing, request, response) => {
      this.#onRequest(outgoing, request, response);
    });
    // http-proxy would write no headers before the first byte of the body, and never end a response whose upstream dies
    // while it sends the body. So responses are written here (selfHandleResponse).
    this.#proxy.on('proxyRes', (incoming, request, response) => {
      this.#respond(incoming, request, response);
    });
  }

  /** Forwards a request and its response. Throws if the request cannot be sent. */
  web(request: IncomingMessage, response: ServerResponse, exchange: Exchange): void {
    if (this.#closed) throw new WrapperError('Unreachable', 'the proxy is being closed');
    this.#exchanges.set(request, exchange);
    const { headers } = request;
    const { body, onError, proxyTarget } = exchange;
    const { target, agent } = proxyTarget;
    const buffer = body === undefined ? {} : { buffer: Readable.from([body]) };
    const options = { target, agent, selfHandleResponse: true, toProxy: true, ...buffer };
    // http-proxy copies them before it returns.
    request.headers = exchange.headers;
    try {
      this.#proxy.web(request, response, options, onError);
    } finally {
      request.headers = headers;
    }
  }

  /** Destroys all requests, and waits until they are closed. */
  async close(): Promise<void> {
    this.#closed = true;
    const closed = [...this.#active].map(
      (request) => new Promise<void>((resolve) => request.once('close', () => resolve())),
    );
    for (const request of this.#active) request.destroy();
    await Promise.all(closed);
  }

  #onRequest(outgoing: ClientRequest, request: IncomingMessage, response: ServerResponse): void {
    this.#track(outgoing);
    this.#restorePath(outgoing, request);
    outgoing.socket?.setKeepAlive(true, TCP_KEEP_ALIVE_MS);
    this.#notifyWhenSent(outgoing, request);
    // The request to the API server would outlive a client that has gone.
    const end = (): void => {
      if (!response.writableFinished) outgoing.destroy();
    };
    response.once('close', end);
    if (response.destroyed) end();
    this.#limitWait(outgoing, request);
    outgoing.once('close', () => response.off('close', end));
  }

  #notifyWhenSent(outgoing: ClientRequest, request: IncomingMessage): void {
    const exchange = this.#exchanges.get(request);
    if (exchange?.onSent === undefined) return;
    const isSecure = exchange.proxyTarget.target.protocol === 'https:';
    if (outgoing.reusedSocket) exchange.onSent();
    else outgoing.socket?.once(isSecure ? 'secureConnect' : 'connect', exchange.onSent);
  }

  /** A response may never start. The option proxyTimeout is no help: it also ends quiet streams. */
  #limitWait(outgoing: ClientRequest, request: IncomingMessage): void {
    const headersMs = this.#exchanges.get(request)?.headersMs;
    if (headersMs === undefined) return;
    const timer = setTimeout(() => {
      const message = `the API server did not start its response within ${headersMs} ms`;
      outgoing.destroy(new WrapperError('Unreachable', message));
    }, headersMs);
    for (const event of ['response', 'close']) {
      outgoing.once(event, () => clearTimeout(timer));
    }
  }

  #respond(incoming: IncomingMessage, request: IncomingMessage, response: ServerResponse): void {
    const exchange = this.#exchanges.get(request);
    const { statusCode = 502, statusMessage, headers } = incoming;
    if (response.destroyed || response.headersSent) {
      incoming.destroy();
      return;
    }
    try {
      response.writeHead(statusCode, statusMessage, responseHeaders(headers));
    } catch (error) {
      incoming.destroy();
      exchange?.onError(error);
      return;
    }
    response.flushHeaders();
    // Not pipeline(), which adds seven listeners for the end of the response to the four that it has. If the client
    // leaves, the request ends, and so does its response, with an error.
    const onError = (error: unknown): void => exchange?.onError(error);
    incoming.on('error', onError).pipe(response.on('error', onError));
  }

  #track(request: ClientRequest): void {
    this.#active.add(request);
    request.once('close', () => this.#active.delete(request));
    // A request is tracked one tick after it was started, so close may have been called in between.
    if (this.#closed) request.destroy();
  }

  /** http-proxy rewrites the path (`//` to `/`), so that another object could be meant than the one authorized. */
  #restorePath(outgoing: ClientRequest, request: IncomingMessage): void {
    const path = this.#exchanges.get(request)?.path;
    if (path === undefined || outgoing.path === path) return;
    if (outgoing.headersSent)
      outgoing.destroy(new Error('the path was changed before it was sent'));
    else outgoing.path = path;
  }
}
