import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import type { Credentials, TlsOptions } from '../credentials/credentials.ts';
import type { Judgement } from './judge-response.ts';
import { RecoveryCheck } from './recovery-check.ts';
import { addressOf } from './upstream-error.ts';

/** How a request ended: no connection, no response in time, `failing` or `foreign` (see Judgement), or `usable`. */
export type Outcome = 'unreachable' | 'silent' | 'serverError' | 'answered';

export interface FailoverOptions {
  readonly credentials: Credentials;
  /** Further API servers of the same cluster, with the same authority and credentials, in order; default: none. */
  readonly servers?: readonly URL[];
  /** The longest time between two checks of the preferred server while another one is used, in ms; default 3,000. */
  readonly returnMs?: number;
  /** Health-checks a server; see {@link RecoveryCheck}. */
  readonly probe: (server: URL, ms: number) => Promise<Judgement | undefined>;
  /** Called when the preferred server is used again: open watches then move to it. */
  readonly onReturn: () => void;
  readonly logger: Logger;
}

/** After so many 5xx, or responses that are not of an API server, in a row the next server is used. */
const MAX_SERVER_ERRORS = 3;
const RETURN_MS = 3_000;

/** Why a server was left, for the log. */
const WHY = {
  unreachable: 'is unreachable',
  silent: 'does not answer',
  serverError: `answered ${MAX_SERVER_ERRORS} requests in a row with 5xx, or not as an API server does`,
} as const;

/**
 * Chooses which API server is used: one list, tried in order. The kubeconfig's server is the preferred one, then
 * come the further ones. It looks like credentials whose first server is the one in use, and notifies its listeners
 * when that changes.
 *
 *     preferred ── unreachable, silent or 3 x 5xx in a row ──▶ next ── the same ──▶ next … ──▶ preferred
 *         ▲                                                     │
 *         └── 2 good health checks in a row, about 2 s apart ───┘
 *
 * 4xx are answers. When the preferred server is used again, open watches move to it: the other one may lag behind. At
 * any other change they stay where they are, because they may be the only ones that still bring changes.
 */
export class Failover implements Credentials {
  readonly #credentials: Credentials;
  readonly #further: readonly URL[];
  readonly #logger: Logger;
  readonly #onReturn: () => void;
  readonly #listeners = new Set<() => void>();
  readonly #unsubscribe: () => void;
  readonly #recovery: RecoveryCheck;
  /** URL of the server in use. */
  #current: string;
  /** 5xx in a row from the server in use. */
  #serverErrors = 0;
  /** Servers tried since one answered: after all of them the log is quiet. */
  #tried = 0;
  #switches = 0;

  /** Throws `InvalidSettings` if the servers have different schemes. */
  constructor(options: FailoverOptions) {
    const { credentials, servers = [], returnMs = RETURN_MS } = options;
    this.#credentials = credentials;
    this.#further = servers;
    this.#logger = options.logger;
    this.#onReturn = options.onReturn;
    const { protocol, href } = preferred(credentials);
    this.#current = href;
    const other = servers.find((server) => server.protocol !== protocol);
    if (other !== undefined) {
      const problem = `servers: ${other.origin} must use ${protocol.slice(0, -1)}, as the server of the kubeconfig does`;
      throw new WrapperError('InvalidSettings', problem);
    }
    this.#recovery = new RecoveryCheck({
      probe: options.probe,
      onRecovered: (server) => this.#return(server),
      intervalMs: returnMs,
    });
    this.#unsubscribe = credentials.onTlsChange(() => this.#onCredentialsChange());
  }

  /** The server in use first, then the others in the order in which they are tried. */
  get servers(): readonly URL[] {
    const all = this.#all();
    const index = Math.max(
      0,
      all.findIndex(({ href }) => href === this.#current),
    );
    return [...all.slice(index), ...all.slice(0, index)];
  }

  /** How often the server in use has changed. */
  get switches(): number {
    return this.#switches;
  }

  headers(): Promise<Readonly<Record<string, string>>> {
    return this.#credentials.headers();
  }

  tls(): TlsOptions {
    return this.#credentials.tls();
  }

  refresh(): Promise<void> {
    return this.#credentials.refresh();
  }

  /** Calls the listener after the server in use or the TLS options have changed. */
  onTlsChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Stops. The credentials are closed by their owner. */
  close(): void {
    this.#recovery.stop();
    this.#unsubscribe();
    this.#listeners.clear();
  }

  /** Records how a request to a server ended. */
  report(server: URL, outcome: Outcome): void {
    if (server.href !== this.#current) return;
    if (outcome === 'answered') {
      this.#serverErrors = 0;
      this.#tried = 0;
    } else if (outcome !== 'serverError' || ++this.#serverErrors >= MAX_SERVER_ERRORS) {
      this.#next(outcome);
    }
  }

  /** Uses a server that was found to answer while the one in use does not. */
  take(server: URL): void {
    const [from] = this.servers;
    const to = this.servers.find(({ href }) => href === server.href);
    if (from === undefined || to === undefined || to === from) return;
    this.#switch(from, to, 'silent', 'warn');
  }

  /** Uses the next server of the list, if there is another one. */
  #next(outcome: keyof typeof WHY): void {
    const [from, to] = this.servers;
    if (from === undefined || to === undefined) return;
    this.#tried++;
    this.#switch(from, to, outcome, this.#tried < this.servers.length ? 'warn' : 'debug');
  }

  #switch(from: URL, to: URL, outcome: keyof typeof WHY, level: 'warn' | 'debug'): void {
    const fields = { from: addressOf(from), to: addressOf(to), why: WHY[outcome] };
    this.#logger[level](fields, 'another API server is used');
    this.#use(to);
  }

  #return(server: URL): void {
    this.#logger.info({ server: addressOf(server) }, 'the preferred API server is used again');
    this.#use(server);
    this.#onReturn();
  }

  #use(server: URL): void {
    this.#current = server.href;
    this.#serverErrors = 0;
    this.#switches++;
    this.#onChange();
  }

  #onCredentialsChange(): void {
    if (this.#all().every(({ href }) => href !== this.#current)) {
      this.#current = preferred(this.#credentials).href;
      this.#serverErrors = 0;
    }
    this.#onChange();
  }

  #onChange(): void {
    const server = preferred(this.#credentials);
    if (server.href === this.#current) this.#recovery.stop();
    else this.#recovery.start(server);
    for (const listener of this.#listeners) listener();
  }

  /** All servers by preference. Schemes are never mixed, because plain http would expose the credentials. */
  #all(): URL[] {
    const first = preferred(this.#credentials);
    const all = [...this.#credentials.servers, ...this.#further];
    const seen = new Set<string>();
    return all.filter(({ href, protocol }) => {
      if (protocol !== first.protocol || seen.has(href)) return false;
      seen.add(href);
      return true;
    });
  }
}

function preferred(credentials: Credentials): URL {
  const [server] = credentials.servers;
  if (server !== undefined) return server;
  throw new WrapperError('Credentials', 'the credentials name no API server');
}
