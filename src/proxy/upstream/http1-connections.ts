import { type ClientRequest, Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { TlsOptions } from '../credentials/credentials.ts';
import { ADDRESSING } from '../util/dns-lookup.ts';
import {
  type AgentRequest,
  type AgentResponse,
  type AgentTimes,
  type Connections,
  isReset,
  isSafe,
  limitInformational,
  NoResponse,
  Unprocessed,
} from './agent-request.ts';

export interface Http1Options {
  readonly server: URL;
  readonly tls: TlsOptions;
  readonly times: AgentTimes;
  /** Called with the socket of each request, new or not. */
  readonly onSocket: (socket: Socket) => void;
  /** Called whenever a connection is established. */
  readonly onConnect: () => void;
}

/** Connections of HTTP/1.1, by Node's own client: one for each request at a time. */
export class Http1Connections implements Connections {
  readonly #options: Http1Options;
  readonly #isSecure: boolean;
  readonly #agent: HttpAgent;
  /** Connections that were opened by others and that no request has used yet. */
  readonly #adopted = new Set<TLSSocket>();

  constructor(options: Http1Options) {
    this.#options = options;
    this.#isSecure = options.server.protocol === 'https:';
    const common = { ...ADDRESSING, keepAlive: true, timeout: options.times.idleMs };
    this.#agent = this.#isSecure
      ? this.#createSecureAgent({ ...common, ...options.tls })
      : new HttpAgent(common);
  }

  /** Whether a connection is open, or being opened. */
  get isInUse(): boolean {
    const { sockets, freeSockets, requests } = this.#agent;
    const inUse = [sockets, freeSockets, requests].some((each) => Object.keys(each).length > 0);
    return inUse || this.#adopted.size > 0;
  }

  /** Takes over a connection whose server has chosen HTTP/1.1. The next request uses it. */
  adopt(socket: TLSSocket): void {
    this.#adopted.add(socket);
    socket.setTimeout(this.#options.times.idleMs, () => {
      if (this.#adopted.has(socket)) socket.destroy();
    });
    socket.once('close', () => this.#adopted.delete(socket));
  }

  async request(options: AgentRequest): Promise<AgentResponse> {
    const request = this.#open(options);
    try {
      return await this.#send(request, options);
    } catch (error) {
      // A server may close an idle connection just when it is used again. That is not a failure of the server.
      const mayRepeat = request.reusedSocket && isReset(error) && isSafe(options.method);
      throw mayRepeat ? new Unprocessed('', { cause: error }) : error;
    }
  }

  close(): void {
    this.#agent.keepSocketAlive = () => false;
    for (const socket of Object.values(this.#agent.freeSockets).flat()) socket?.destroy();
    for (const socket of this.#adopted) socket.destroy();
  }

  destroy(): void {
    this.#agent.destroy();
    for (const socket of this.#adopted) socket.destroy();
  }

  #createSecureAgent(options: ConstructorParameters<typeof HttpsAgent>[0]): HttpsAgent {
    const agent = new HttpsAgent(options);
    const create = agent.createConnection.bind(agent);
    agent.createConnection = (...args) => {
      const [socket] = this.#adopted;
      if (socket === undefined) return create(...args);
      this.#adopted.delete(socket);
      return socket;
    };
    return agent;
  }

  #open({ path, method, headers, signal }: AgentRequest): ClientRequest {
    const request = this.#isSecure ? httpsRequest : httpRequest;
    return request(this.#options.server.origin, {
      ...{ path, method, headers, signal },
      agent: this.#agent,
    });
  }

  async #send(request: ClientRequest, { body }: AgentRequest): Promise<AgentResponse> {
    const watch = this.#guard(request);
    try {
      return await new Promise<AgentResponse>((resolve, reject) => {
        // This listener is not removed, because later errors are emitted too. The reader gets them from the body.
        request.on('error', reject);
        request.once('close', () => reject(new Error('the connection was closed')));
        const countInformational = limitInformational((error) => request.destroy(error));
        request.on('information', countInformational);
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

  /** Ends a request whose connection takes too long, or later whose response does. */
  #guard(request: ClientRequest): { timer: NodeJS.Timeout } {
    const { connectMs, headersMs, probeMs } = this.#options.times;
    const limit = (ms: number, late: (within: string) => Error): NodeJS.Timeout =>
      setTimeout(() => request.destroy(late(`within ${ms / 1000} s`)), ms);
    const watch = { timer: limit(connectMs, (within) => new Error(`no connection ${within}`)) };
    const connected = (): void => {
      clearTimeout(watch.timer);
      if (!request.destroyed)
        watch.timer = limit(headersMs, (within) => new NoResponse(`no response ${within}`));
    };
    request.once('socket', (socket) => {
      this.#options.onSocket(socket);
      if (request.reusedSocket) {
        connected();
        return;
      }
      socket.setKeepAlive(true, probeMs);
      if (isConnected(socket)) {
        connected();
        return;
      }
      socket.once(this.#isSecure ? 'secureConnect' : 'connect', () => {
        this.#options.onConnect();
        connected();
      });
    });
    return watch;
  }
}

/** Whether a socket is connected, TLS included: that of an adopted connection is from the start. */
function isConnected(socket: Socket): boolean {
  const { secureConnecting = false }: { readonly secureConnecting?: boolean } = socket as object;
  return !socket.connecting && !secureConnecting;
}
