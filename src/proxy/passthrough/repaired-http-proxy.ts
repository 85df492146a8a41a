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

/** How one request is passed on. */
export interface Exchange {
  readonly destination: ProxyTarget;
  readonly headers: IncomingHttpHeaders;
  /** The whole body; absent: that of the request, as it comes. */
  readonly body?: Buffer;
  /** Path and query, byte for byte as they are to be sent. */
  readonly path: string;
  /** How long the answer may take to begin, in milliseconds; undefined: for as long as the connection stands. */
  readonly headersMs: number | undefined;
  /** Called when the connection stands, TLS and all: from now on the API server may act. */
  readonly onSent?: () => void;
  /** Called when the API server answers, with the status. */
  readonly onAnswer?: (statusCode: number) => void;
  /** Called for each thing that goes wrong, also more than once, also after the headers were written. */
  readonly onError: (error: unknown) => void;
}

/** The parts of http-proxy that its types leave out: passes are functions in a list, told apart by name. */
interface Passes {
  webPasses: readonly { readonly name: string }[];
  wsPasses: readonly { readonly name: string }[];
}

const KEEP_ALIVE_MS = 30_000;

/**
 * http-proxy 1.18.1 with its faults repaired from outside:
 * - pass deleteLength gives a chunked DELETE or OPTIONS the length 0, so that its body passes for the next
 *   request (request smuggling): removed;
 * - pass checkMethodAndHeader refuses SPDY upgrades: removed;
 * - the path is rewritten (`//` to `/`): set again;
 * - the request to the upstream outlives a client that went away: destroyed with the response;
 * - it waits without end for an answer: a timer, for its own (proxyTimeout) also ends quiet streams;
 * - a client waits for ever when the upstream dies mid-body, and for the headers until the first byte of the
 *   body comes: answered here, with flushHeaders and pipeline;
 * - a reset during an upgrade is an error event without a listener: listened to from the start;
 * - a switched connection to the upstream outlives that of the client, if that is reset: destroyed with it;
 * - a refused upgrade is answered as chunked, though the chunks are gone: as ended by the connection; a client
 *   waits for ever when that answer breaks off: its connection is destroyed.
 */
export class RepairedHttpProxy {
  readonly #proxy = httpProxy.createProxyServer();
  readonly #exchanges = new WeakMap<IncomingMessage, Exchange>();
  /** Requests to the API server, and the sockets of clients that switch protocols. */
  readonly #live = new Set<ClientRequest | Duplex>();
  #closed = false;

  constructor() {
    const passes = this.#proxy as unknown as Passes;
    passes.webPasses = passes.webPasses.filter(({ name }) => name !== 'deleteLength');
    passes.wsPasses = passes.wsPasses.filter(({ name }) => name !== 'checkMethodAndHeader');
    this.#proxy.on('proxyReq', (outgoing, request, response) => {
      this.#watchOver(outgoing, request, response);
    });
    this.#proxy.on('proxyRes', (incoming, request, response) => {
      this.#answer(incoming, request, response);
    });
    this.#proxy.on('proxyReqWs', (outgoing, request, socket) => {
      this.#watchOverUpgrade(outgoing, request, socket);
    });
  }

  /** Passes a request on, and the answer back. Throws for what can't be sent. */
  web(request: IncomingMessage, response: ServerResponse, exchange: Exchange): void {
    this.#start(request, exchange, (options) => {
      this.#proxy.web(request, response, options, exchange.onError);
    });
  }

  /** Passes a request to switch protocols on, and then all bytes. Throws for what can't be sent. */
  ws(request: IncomingMessage, socket: Duplex, head: Buffer, exchange: Exchange): void {
    socket.on('error', () => {});
    this.#start(request, exchange, (options) => {
      this.#proxy.ws(request, socket, head, options, exchange.onError);
    });
  }

  /** Destroys all requests and switched connections, and waits until they are closed. */
  async close(): Promise<void> {
    this.#closed = true;
    const closed = [...this.#live].map(
      (each) => new Promise<void>((resolve) => each.once('close', () => resolve())),
    );
    for (const each of this.#live) each.destroy();
    await Promise.all(closed);
  }

  /** http-proxy copies the headers before it returns; until then the request has those to be sent. */
  #start(
    request: IncomingMessage,
    exchange: Exchange,
    pass: (options: httpProxy.ServerOptions) => void,
  ): void {
    if (this.#closed) throw new WrapperError('Unreachable', 'the proxy is being closed');
    this.#exchanges.set(request, exchange);
    const { headers } = request;
    const { target, agent } = exchange.destination;
    request.headers = exchange.headers;
    try {
      const buffer = exchange.body === undefined ? {} : { buffer: Readable.from([exchange.body]) };
      pass({ target, agent, selfHandleResponse: true, toProxy: true, ...buffer });
    } finally {
      request.headers = headers;
    }
  }

  #watchOver(outgoing: ClientRequest, request: IncomingMessage, response: ServerResponse): void {
    this.#track(outgoing);
    this.#exactPath(outgoing, request);
    outgoing.socket?.setKeepAlive(true, KEEP_ALIVE_MS);
    this.#tellWhenSent(outgoing, request);
    const end = (): void => {
      if (!response.writableFinished) outgoing.destroy();
    };
    response.once('close', end);
    if (response.destroyed) end();
    this.#limit(outgoing, request);
    outgoing.once('close', () => response.off('close', end));
  }

  #tellWhenSent(outgoing: ClientRequest, request: IncomingMessage): void {
    const exchange = this.#exchanges.get(request);
    if (exchange?.onSent === undefined) return;
    const isSecure = exchange.destination.target.protocol === 'https:';
    if (outgoing.reusedSocket) exchange.onSent();
    else outgoing.socket?.once(isSecure ? 'secureConnect' : 'connect', exchange.onSent);
  }

  #limit(outgoing: ClientRequest, request: IncomingMessage): void {
    const headersMs = this.#exchanges.get(request)?.headersMs;
    if (headersMs === undefined) return;
    const timer = setTimeout(() => {
      const message = `the API server did not begin to answer within ${headersMs} ms`;
      outgoing.destroy(new WrapperError('Unreachable', message));
    }, headersMs);
    for (const event of ['response', 'upgrade', 'close']) {
      outgoing.once(event, () => clearTimeout(timer));
    }
  }

  #answer(incoming: IncomingMessage, request: IncomingMessage, response: ServerResponse): void {
    const exchange = this.#exchanges.get(request);
    const { statusCode = 502, statusMessage, headers } = incoming;
    exchange?.onAnswer?.(statusCode);
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

  #watchOverUpgrade(outgoing: ClientRequest, request: IncomingMessage, socket: Duplex): void {
    this.#track(outgoing);
    this.#track(socket);
    this.#exactPath(outgoing, request);
    const end = (): void => void outgoing.destroy();
    socket.once('close', end);
    if (socket.destroyed) end();
    this.#limit(outgoing, request);
    // This listener comes before that of http-proxy, which writes these headers and closes after the body.
    outgoing.once('response', (incoming) => {
      delete incoming.headers['transfer-encoding'];
      incoming.headers.connection = 'close';
      // Of an answer that breaks off nobody would tell the client.
      incoming.once('close', () => incoming.complete || socket.destroy());
    });
    outgoing.once('upgrade', (_incoming, other) => {
      socket.once('close', () => other.destroy());
    });
  }

  #track(each: ClientRequest | Duplex): void {
    this.#live.add(each);
    each.once('close', () => this.#live.delete(each));
    // A request becomes known a tick after it was started.
    if (this.#closed) each.destroy();
  }

  #exactPath(outgoing: ClientRequest, request: IncomingMessage): void {
    const path = this.#exchanges.get(request)?.path;
    if (path === undefined || outgoing.path === path) return;
    if (outgoing.headersSent) outgoing.destroy(new Error('the path was sent otherwise'));
    else outgoing.path = path;
  }
}
