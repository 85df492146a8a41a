import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { ServerAccess } from '../../client/credentials/credentials.ts';
import { ADDRESSING } from '../../client/system/dns-lookup.ts';
import { IDLE_MS } from '../../client/upstream/line.ts';
import { WrapperError } from '../../errors.ts';

/** An API server in the form that http-proxy needs. */
export interface ProxyTarget {
  readonly target: {
    readonly protocol: string;
    readonly hostname: string;
    readonly host: string;
    readonly port: number;
    /** Prefix of all paths, without a trailing slash. */
    readonly path: string;
  };
  /** Value of the Host header. */
  readonly host: string;
  readonly agent: HttpAgent;
}

/** The API server in use and the agent of its connections. Both are replaced when the TLS options change. */
export class ProxyTargets {
  readonly #serverAccess: ServerAccess;
  readonly #unsubscribe: () => void;
  #current: ProxyTarget | undefined;

  constructor(serverAccess: ServerAccess) {
    this.#serverAccess = serverAccess;
    this.#unsubscribe = serverAccess.onTlsChange(() => this.#retire());
  }

  current(): ProxyTarget {
    this.#current ??= this.#open();
    return this.#current;
  }

  close(): void {
    this.#unsubscribe();
    this.#retire();
  }

  #open(): ProxyTarget {
    const [server] = this.#serverAccess.servers;
    if (server === undefined) {
      throw new WrapperError('Credentials', 'the credentials name no API server');
    }
    const { protocol, host, pathname } = server;
    const isHttp = protocol === 'http:';
    const hostname = server.hostname.replace(/^\[|\]$/g, '');
    const port = Number(server.port || (isHttp ? 80 : 443));
    const options = { ...ADDRESSING, keepAlive: true, timeout: IDLE_MS };
    // Without our client certificate: the API server would prefer it to the caller's token.
    const { cert, key, ...tls } = this.#serverAccess.tls();
    const agent = isHttp ? new HttpAgent(options) : new HttpsAgent({ ...options, ...tls });
    const target = { protocol, hostname, host: hostname, port, path: pathname.replace(/\/$/, '') };
    return { target, host, agent };
  }

  /** Open requests end on their connections; further requests get new connections. */
  #retire(): void {
    const agent = this.#current?.agent;
    this.#current = undefined;
    if (agent === undefined) return;
    agent.keepSocketAlive = () => false;
    for (const sockets of Object.values(agent.freeSockets)) {
      for (const socket of sockets ?? []) socket.destroy();
    }
  }
}
