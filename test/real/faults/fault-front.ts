import {
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
  type ServerResponse,
} from 'node:http';
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
import { request as secureRequest, Agent as TlsAgent } from 'node:https';
import type { KeyPair } from '../../../harness/certificates.ts';
import {
  type ActiveTcpFault,
  startTcpFront,
  type TcpFault,
  type TcpFront,
} from '../../../harness/network/tcp-front.ts';
import { type SeenRequest, toSeenRequest } from './seen-request.ts';

/** A request that waits for its answer. */
export interface Exchange {
  readonly seen: SeenRequest;
  readonly request: Http2ServerRequest;
  readonly response: Http2ServerResponse;
  /** The last one to write to the response; a watch that goes on is found here by faults. */
  isWatching: boolean;
  /** Ends the connection, or the stream of HTTP/2, without an answer. */
  abort(code?: number): void;
}

/** Gives the answer of the API server in another form. */
export type Transform = (
  answer: IncomingMessage,
  exchange: Exchange,
) => AsyncIterable<Buffer> | undefined;

/** What happens to requests; the first one that takes a request answers it. */
export interface HttpFault {
  /** Whether the fault is for this request. */
  readonly takes: (seen: SeenRequest) => boolean;
  /** Answers in place of the API server. */
  readonly answer?: (exchange: Exchange) => void;
  /** Changes the headers and the body of its answer. */
  readonly headers?: (headers: Record<string, string>) => void;
  readonly transform?: Transform;
}

export interface FrontOptions {
  /** Address that it listens at. Default 127.0.0.1. */
  readonly host?: string;
  readonly port: number;
  readonly innerPort: number;
  readonly certificate: KeyPair;
  /** The API server; its origin may change. */
  readonly backend: { readonly origin: string; readonly ca?: string };
  /** What ALPN may choose. */
  readonly protocols: readonly ('h2' | 'http/1.1')[];
}

const STREAMS = 250;
/** As long as kube-apiserver keeps an idle connection of HTTP/1.1, in milliseconds; Node.js: 5 s. */
const KEEP_ALIVE_MS = 90_000;

/** Where the wrapper finds its API server: TLS, HTTP/2 and HTTP/1.1, with everything that can go wrong. */
export class FaultFront {
  /** Requests so far, oldest first. */
  readonly requests: SeenRequest[] = [];
  /** Requests that are not answered to the end. */
  readonly open = new Set<Exchange>();
  readonly sessions = new Set<ServerHttp2Session>();
  readonly #options: FrontOptions;
  readonly #server: Http2SecureServer;
  /** The last request of each connection of HTTP/1.1, by its port. */
  readonly #lastRequests = new Map<number, SeenRequest>();
  readonly #faults: { readonly fault: HttpFault; hits: number }[] = [];
  readonly #agents = {
    plain: new PlainAgent({ keepAlive: true }),
    tls: new TlsAgent({ keepAlive: true }),
  };
  #protocols: readonly string[];
  #streams: number | undefined;
  #other: { readonly origin: string; readonly takes: (url: URL) => boolean } | undefined;
  #tcp: TcpFront | undefined;

  constructor(options: FrontOptions) {
    this.#options = options;
    this.#protocols = options.protocols;
    this.#server = createSecureServer({
      ...options.certificate,
      allowHTTP1: true,
      ALPNCallback: ({ protocols }) => this.#protocols.find((each) => protocols.includes(each)),
      settings: { maxConcurrentStreams: STREAMS },
    });
    // Node's types have it for servers of HTTP/1.1 only.
    Object.assign(this.#server, { keepAliveTimeout: KEEP_ALIVE_MS });
    this.#server.on('session', (session) => this.#onSession(session));
    this.#server.on('request', (request, response) => this.#onRequest(request, response));
    this.#server.on('tlsClientError', () => {});
    this.#server.on('sessionError', () => {});
  }

  get url(): string {
    const { host = '127.0.0.1', port } = this.#options;
    return `https://${host}:${port}`;
  }

  /** When connections arrived, of performance.now(). */
  get connections(): readonly number[] {
    return this.#tcp?.accepted ?? [];
  }

  /**
   * What the open requests are sent over, HTTP/1.1 if one of them is; without any, the last one. Connections of a time
   * without HTTP/2 outlive it.
   */
  get protocol(): SeenRequest['protocol'] {
    const open = [...this.open].map(({ seen }) => seen);
    const spoken = open.length > 0 ? open : this.requests.slice(-1);
    const isHttp2 = spoken.length > 0 && spoken.every(({ protocol }) => protocol === 'h2');
    return isHttp2 ? 'h2' : 'http/1.1';
  }

  async start(): Promise<void> {
    const { host = '127.0.0.1', port, innerPort } = this.#options;
    const target = { host: '127.0.0.1', port: innerPort };
    await new Promise<void>((done) => this.#server.listen(target, done));
    this.#tcp = await startTcpFront({
      listen: { host, port },
      target,
      onDamage: (from) => {
        const seen = this.#lastRequests.get(from);
        if (seen !== undefined) seen.isDamaged = true;
      },
    });
  }

  async beginTcp(fault: TcpFault): Promise<ActiveTcpFault> {
    if (this.#tcp === undefined) throw new Error('the front has not started');
    return await this.#tcp.begin(fault);
  }

  /** Returns the hits so far, and what ends it. */
  beginHttp(fault: HttpFault): { readonly hits: () => number; readonly end: () => void } {
    const active = { fault, hits: 0 };
    this.#faults.push(active);
    return {
      hits: () => active.hits,
      end: () => void this.#faults.splice(this.#faults.indexOf(active), 1),
    };
  }

  /** Resets all connections; returns how many. */
  cut(): number {
    return this.#tcp?.cut() ?? 0;
  }

  /** Shows another certificate to new connections; undefined: its own again. */
  showCertificate(certificate: KeyPair | undefined): void {
    this.#server.setSecureContext(certificate ?? this.#options.certificate);
  }

  /** What ALPN may choose from now on; undefined: as at the start. */
  offer(protocols: readonly string[] | undefined): void {
    this.#protocols = protocols ?? this.#options.protocols;
  }

  /** Settings of new HTTP/2 sessions; undefined: as at the start. */
  limitStreams(maxConcurrentStreams: number | undefined): void {
    this.#streams = maxConcurrentStreams;
  }

  /** Requests go there in place of the backend, those that are taken; undefined: to the backend again. */
  redirect(origin: string | undefined, takes: (url: URL) => boolean = () => true): void {
    this.#other = origin === undefined ? undefined : { origin, takes };
  }

  async stop(): Promise<void> {
    await this.#tcp?.stop();
    for (const session of this.sessions) session.destroy();
    this.#server.close();
    this.#agents.plain.destroy();
    this.#agents.tls.destroy();
  }

  #onSession(session: ServerHttp2Session): void {
    this.sessions.add(session);
    session.on('error', () => {});
    session.once('close', () => this.sessions.delete(session));
    if (this.#streams !== undefined) session.settings({ maxConcurrentStreams: this.#streams });
  }

  #onRequest(request: Http2ServerRequest, response: Http2ServerResponse): void {
    const protocol = request.httpVersion === '2.0' ? 'h2' : 'http/1.1';
    const { accept = '', authorization } = request.headers;
    const seen = toSeenRequest(request.url, accept, protocol, authorization);
    this.requests.push(seen);
    if (protocol === 'http/1.1') this.#lastRequests.set(request.socket.remotePort ?? 0, seen);
    const abort = (code = constants.NGHTTP2_INTERNAL_ERROR): void => {
      if (protocol === 'h2') response.stream?.close(code);
      else request.socket.destroy();
    };
    const exchange: Exchange = { seen, request, response, isWatching: false, abort };
    this.open.add(exchange);
    request.on('error', () => {});
    response.on('error', () => {});
    response.once('close', () => {
      this.open.delete(exchange);
      if (!response.headersSent) return;
      seen.status = response.statusCode;
      seen.isHtml = String(response.getHeader('content-type')).startsWith('text/html');
    });
    const taken = this.#faults.filter(({ fault }) => fault.takes(seen));
    for (const active of taken) active.hits += 1;
    const answerer = taken.find(({ fault }) => fault.answer !== undefined);
    if (answerer?.fault.answer === undefined) {
      this.#forward(
        exchange,
        taken.map(({ fault }) => fault),
      );
    } else answerer.fault.answer(exchange);
  }

  #forward(exchange: Exchange, faults: readonly HttpFault[]): void {
    const { request, response } = exchange;
    const { backend } = this.#options;
    const own = new URL(request.url, backend.origin);
    const other = this.#other?.takes(own) === true ? this.#other.origin : undefined;
    const url = other === undefined ? own : new URL(request.url, other);
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(
        ([name]) => !name.startsWith(':') && !['host', 'connection', 'upgrade'].includes(name),
      ),
    );
    const isPlain = url.protocol === 'http:';
    const agent = isPlain ? this.#agents.plain : this.#agents.tls;
    const how = { method: request.method, headers, agent, ca: backend.ca };
    const onAnswer = (answer: IncomingMessage) => void this.#pass(exchange, answer, faults);
    const outgoing = isPlain ? plainRequest(url, how, onAnswer) : secureRequest(url, how, onAnswer);
    outgoing.on('error', () => {
      // As when the API server itself ends: its connections end with it.
      if (exchange.seen.protocol === 'h2') response.stream?.session?.destroy();
      else request.socket.destroy();
    });
    response.once('close', () => outgoing.destroy());
    request.pipe(outgoing);
  }

  async #pass(
    exchange: Exchange,
    answer: IncomingMessage,
    faults: readonly HttpFault[],
  ): Promise<void> {
    const { response } = exchange;
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(answer.headers)) {
      if (['connection', 'keep-alive', 'transfer-encoding'].includes(name)) continue;
      headers[name] = String(value);
    }
    for (const { headers: change } of faults) change?.(headers);
    const transform = faults.find((fault) => fault.transform !== undefined)?.transform;
    exchange.isWatching = exchange.seen.verb === 'watch' && answer.statusCode === 200;
    try {
      const body = transform?.(answer, exchange) ?? answer;
      if (body !== answer) delete headers['content-length'];
      response.writeHead(answer.statusCode ?? 502, headers);
      // It is there in both protocols; the types of HTTP/2 do not have it.
      (response as unknown as ServerResponse).flushHeaders();
      for await (const chunk of body as AsyncIterable<Buffer>) {
        if (response.destroyed) break;
        response.write(chunk);
      }
      response.end();
    } catch {
      exchange.abort();
    } finally {
      answer.destroy();
    }
  }
}
