import type {
  ClientRequest,
  IncomingHttpHeaders,
  IncomingMessage,
  ServerResponse,
} from 'node:http';
import { type Duplex, pipeline, Readable } from 'node:stream';
import httpProxy from 'http-proxy';
import { WrapperError } from '../../errors.ts';
import { responseHeaders } from './passthrough-headers.ts';
import type { ProxyTarget } from './proxy-targets.ts';

/** How one request is forwarded. */
export interface Exchange {
  readonly proxyTarget: ProxyTarget;
  readonly headers: IncomingHttpHeaders;
  /** The whole body; absent: that of the request, streamed. */
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

/** The passes of http-proxy, which its types leave out: a list of functions, identified by their names. */
interface Passes {
  webPasses: readonly { readonly name: string }[];
  wsPasses: readonly { readonly name: string }[];
}

const KEEP_ALIVE_MS = 30_000;

/**
 * http-proxy 1.18.1. Its defects are repaired from outside:
 * - Pass deleteLength gives a chunked DELETE or OPTIONS the length 0, so its body passes for the next request (request
 *   smuggling). The pass is removed.
 * - Pass checkMethodAndHeader refuses SPDY upgrades. The pass is removed.
 * - The path is rewritten (`//` to `/`). It is set again.
 * - The request to the upstream outlives a client that has gone. It is destroyed with the response.
 * - There is no time limit for a response. A timer ends the request, because proxyTimeout also ends quiet streams.
 * - A client waits forever if the upstream dies while it sends a body, and gets no headers before the first byte of the
 *   body. The response is written here, with flushHeaders and pipeline.
 * - A reset during an upgrade is an error event without a listener. There is one from the start.
 * - A switched connection to the upstream outlives that of the client if that is reset. It is destroyed with it.
 * - A refused upgrade is answered as chunked, although the chunks are decoded. Its end is the end of the connection.
 * - A client waits forever if that response breaks off. Its connection is destroyed.
 */
export class RepairedHttpProxy {
  readonly #proxy = httpProxy.createProxyServer();
  readonly #exchanges = new WeakMap<IncomingMessage, Exchange>();
  /** Requests to the API server, and the sockets of clients that switch protocols. */
  readonly #active = new Set<ClientRequest | Duplex>();
  #closed = false;

  constructor() {
    const passes = this.#proxy as unknown as Passes;
    passes.webPasses = passes.webPasses.filter(({ name }) => name !== 'deleteLength');
    passes.wsPasses = passes.wsPasses.filter(({ name }) => name !== 'checkMethodAndHeader');
    this.#proxy.on('proxyReq', (outgoing, request, response) => {
      this.#onRequest(outgoing, request, response);
    });
    this.#proxy.on('proxyRes', (incoming, request, response) => {
      this.#respond(incoming, request, response);
    });
    this.#proxy.on('proxyReqWs', (outgoing, request, socket) => {
      this.#onUpgradeRequest(outgoing, request, socket);
    });
  }

  /** Forwards a request and its response. Throws if the request cannot be sent. */
  web(request: IncomingMessage, response: ServerResponse, exchange: Exchange): void {
    this.#start(request, exchange, (options) => {
      this.#proxy.web(request, response, options, exchange.onError);
    });
  }

  /** Forwards a request to switch protocols, and then all bytes. Throws if the request cannot be sent. */
  ws(request: IncomingMessage, socket: Duplex, head: Buffer, exchange: Exchange): void {
    socket.on('error', () => {});
    this.#start(request, exchange, (options) => {
      this.#proxy.ws(request, socket, head, options, exchange.onError);
    });
  }

  /** Destroys all requests and switched connections, and waits until they are closed. */
  async close(): Promise<void> {
    this.#closed = true;
    const closed = [...this.#active].map(
      (each) => new Promise<void>((resolve) => each.once('close', () => resolve())),
    );
    for (const each of this.#active) each.destroy();
    await Promise.all(closed);
  }

  /** Replaces the headers of the request until http-proxy has copied them, which it does before it returns. */
  #start(
    request: IncomingMessage,
    exchange: Exchange,
    run: (options: httpProxy.ServerOptions) => void,
  ): void {
    if (this.#closed) throw new WrapperError('Unreachable', 'the proxy is being closed');
    this.#exchanges.set(request, exchange);
    const { headers } = request;
    const { target, agent } = exchange.proxyTarget;
    request.headers = exchange.headers;
    try {
      const buffer = exchange.body === undefined ? {} : { buffer: Readable.from([exchange.body]) };
      run({ target, agent, selfHandleResponse: true, toProxy: true, ...buffer });
    } finally {
      request.headers = headers;
    }
  }

  #onRequest(outgoing: ClientRequest, request: IncomingMessage, response: ServerResponse): void {
    this.#track(outgoing);
    this.#restorePath(outgoing, request);
    outgoing.socket?.setKeepAlive(true, KEEP_ALIVE_MS);
    this.#notifyWhenSent(outgoing, request);
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

  #limitWait(outgoing: ClientRequest, request: IncomingMessage): void {
    const headersMs = this.#exchanges.get(request)?.headersMs;
    if (headersMs === undefined) return;
    const timer = setTimeout(() => {
      const message = `the API server did not start its response within ${headersMs} ms`;
      outgoing.destroy(new WrapperError('Unreachable', message));
    }, headersMs);
    for (const event of ['response', 'upgrade', 'close']) {
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
    pipeline(incoming, response, (error) => {
      if (error) exchange?.onError(error);
    });
  }

  #onUpgradeRequest(outgoing: ClientRequest, request: IncomingMessage, socket: Duplex): void {
    this.#track(outgoing);
    this.#track(socket);
    this.#restorePath(outgoing, request);
    const end = (): void => void outgoing.destroy();
    socket.once('close', end);
    if (socket.destroyed) end();
    this.#limitWait(outgoing, request);
    // This listener runs before that of http-proxy, which writes these headers and closes after the body.
    outgoing.once('response', (incoming) => {
      delete incoming.headers['transfer-encoding'];
      incoming.headers.connection = 'close';
      // http-proxy does not end the client's connection if the response breaks off.
      incoming.once('close', () => incoming.complete || socket.destroy());
    });
    outgoing.once('upgrade', (_incoming, other) => {
      socket.once('close', () => other.destroy());
    });
  }

  #track(each: ClientRequest | Duplex): void {
    this.#active.add(each);
    each.once('close', () => this.#active.delete(each));
    // A request is tracked one tick after it was started, so close may have been called in between.
    if (this.#closed) each.destroy();
  }

  #restorePath(outgoing: ClientRequest, request: IncomingMessage): void {
    const path = this.#exchanges.get(request)?.path;
    if (path === undefined || outgoing.path === path) return;
    if (outgoing.headersSent)
      outgoing.destroy(new Error('the path was changed before it was sent'));
    else outgoing.path = path;
  }
}
