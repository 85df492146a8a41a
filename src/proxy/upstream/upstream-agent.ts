import { type ClientRequest, Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { VERSION } from '../../version.ts';
import type { TlsOptions } from '../credentials/credentials.ts';
import { ADDRESSING } from '../util/dns-lookup.ts';
import type { ResponseHeaders } from './upstream-body.ts';

export interface AgentRequest {
  readonly origin: string;
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
  /** Ends the request, also while its body is read. */
  readonly signal: AbortSignal;
}

/** Names us in the API server's audit log and priority levels. Forwarded requests keep the caller's name. */
const USER_AGENT = `kube-proxy-wrapper/${VERSION}`;

/** Builds a request to a server: its path comes before that of the request, and the identity's headers win. */
export function createAgentRequest(
  { origin, pathname }: URL,
  request: Pick<AgentRequest, 'method' | 'path'> & Partial<Pick<AgentRequest, 'headers' | 'body'>>,
  identity: AgentRequest['headers'],
  signal: AbortSignal,
): AgentRequest {
  return {
    origin,
    path: pathname.replace(/\/$/, '') + request.path,
    method: request.method,
    headers: { 'user-agent': USER_AGENT, ...request.headers, ...identity },
    body: request.body,
    signal,
  };
}

export interface AgentResponse {
  readonly statusCode: number;
  readonly headers: ResponseHeaders;
  readonly body: Readable;
}

export interface AgentTimes {
  /** Time limit for a connection, TLS included, in milliseconds. */
  readonly connectMs: number;
  /** Time limit for the start of a response, in milliseconds. */
  readonly headersMs: number;
  /** A quiet connection is probed by TCP keep-alive after this time, in milliseconds. */
  readonly probeMs: number;
  /** An idle connection is kept for this time, in milliseconds. */
  readonly idleMs: number;
}

/** The connection was established, but no response started in time. */
export class NoResponse extends Error {}

/**
 * Sends requests of one identity over HTTP/1.1, because a dead peer of an HTTP/2 session is found only by a long
 * timeout. It uses Node's own client, because that is loaded anyway: figures are in bench/NOTES.md.
 */
export class UpstreamAgent {
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;
  readonly #times: AgentTimes;
  readonly #onSocket: (socket: Socket) => void;
  readonly #onConnect: () => void;

  constructor(options: {
    readonly tls: TlsOptions;
    readonly times: AgentTimes;
    /** Called with the socket of each request, new or not. */
    readonly onSocket: (socket: Socket) => void;
    /** Called whenever a connection is established. */
    readonly onConnect: () => void;
  }) {
    this.#times = options.times;
    this.#onSocket = options.onSocket;
    this.#onConnect = options.onConnect;
    const common = { ...ADDRESSING, keepAlive: true, timeout: options.times.idleMs };
    this.#http = new HttpAgent(common);
    this.#https = new HttpsAgent({ ...common, ...options.tls });
  }

  /** Resolves with the headers of the response. Rejects with {@link NoResponse} and errors of the network. */
  async request(options: AgentRequest): Promise<AgentResponse> {
    for (;;) {
      const request = this.#open(options);
      try {
        return await this.#send(request, options);
      } catch (error) {
        // A server may close an idle connection just when it is used again. That is not a failure of the server.
        if (!request.reusedSocket || !isReset(error) || options.signal.aborted) throw error;
      }
    }
  }

  #open({ origin, path, method, headers, signal }: AgentRequest): ClientRequest {
    const common = { path, method, headers, signal };
    return isSecure(origin)
      ? httpsRequest(origin, { ...common, agent: this.#https })
      : httpRequest(origin, { ...common, agent: this.#http });
  }

  async #send(request: ClientRequest, { origin, body }: AgentRequest): Promise<AgentResponse> {
    const watch = this.#guard(request, isSecure(origin));
    try {
      return await new Promise<AgentResponse>((resolve, reject) => {
        // This listener stays, because later errors are emitted too. The reader gets them from the body.
        request.on('error', reject);
        request.once('close', () => reject(new Error('the connection was closed')));
        request.once('response', (response) => {
          const { statusCode = 0, headers } = response;
          resolve({ statusCode, headers, body: response });
        });
        request.end(body);
      });
    } finally {
      clearTimeout(watch.timer);
    }
  }

  /** Closes idle connections. Open requests end on theirs, which are then closed too. */
  close(): void {
    for (const agent of [this.#http, this.#https]) {
      agent.keepSocketAlive = () => false;
      for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
    }
  }

  /** Destroys all connections, and so ends all requests. */
  destroy(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  /** Ends a request whose connection takes too long, or later whose response does. */
  #guard(request: ClientRequest, secure: boolean): { timer: NodeJS.Timeout } {
    const { connectMs, headersMs, probeMs } = this.#times;
    const limit = (ms: number, late: (within: string) => Error): NodeJS.Timeout =>
      setTimeout(() => request.destroy(late(`within ${ms / 1000} s`)), ms);
    const watch = { timer: limit(connectMs, (within) => new Error(`no connection ${within}`)) };
    const connected = (): void => {
      clearTimeout(watch.timer);
      if (!request.destroyed)
        watch.timer = limit(headersMs, (within) => new NoResponse(`no response ${within}`));
    };
    request.once('socket', (socket) => {
      this.#onSocket(socket);
      if (request.reusedSocket) {
        connected();
        return;
      }
      socket.setKeepAlive(true, probeMs);
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        this.#onConnect();
        connected();
      });
    });
    return watch;
  }
}

function isSecure(origin: string): boolean {
  return origin.startsWith('https:');
}

function isReset(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ECONNRESET' || code === 'EPIPE';
}
