import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { reading } from '../../read-yaml.ts';
import { REQUEST_ENDS, type RequestEnd } from '../api/request-end.ts';
import type { Credentials, ServerAccess, TlsOptions } from '../credentials/credentials.ts';
import { assertCertificates } from '../system/pem.ts';
import { addressOf } from './upstream-error.ts';

/** Relays near this node; see src/relay. They get the token of the credentials, and no client certificate. */
export interface Relays {
  /** In order of preference, over https. */
  readonly servers: readonly URL[];
  /** Their authority, PEM. It is read for each new line, and after each failed connection. */
  readonly caFile: string;
}

export interface FailoverOptions {
  readonly credentials: Credentials;
  /** Tried before the API servers; default: none. */
  readonly relays?: Relays | undefined;
  /** Further API servers of the same cluster, with the same authority and credentials, in order; default: none. */
  readonly servers?: readonly URL[];
  /**
   * Servers before the one in use are tried again after this time, in milliseconds; default 60,000. If the server of a
   * return is left again within the time, the next return takes twice as long, up to 16 times `returnMs`.
   */
  readonly returnMs?: number;
  /** Resolves if a list from the server arrives. Default: there is no return. */
  readonly tryServer?: ((server: URL) => Promise<unknown>) | undefined;
  /** Called when a server before the last one is used again: open watches then move to it. */
  readonly onReturn: () => void;
  readonly logger: Logger;
}

/** The server in use. */
interface InUse {
  readonly href: string;
  /** Since when it is used; monotonic, in milliseconds. */
  readonly since: number;
  /** Whether it was used because a preferred server answers again. */
  readonly isReturn: boolean;
  /** 5xx in a row. */
  errors: number;
}

/** After so many 5xx, or responses that are not of an API server, in a row the next server is used. */
const MAX_SERVER_ERRORS = 3;
const RETURN_MS = 60_000;
const MAX_LONGER = 16;
/** So much of the time until a return is added at random, so that the nodes of a cluster do not return in step. */
const SPREAD = 0.25;

/** Why a server was left, for the log. */
const WHY: Partial<Record<RequestEnd, string>> = {
  unreachable: 'does not answer',
  serverError: `answered ${MAX_SERVER_ERRORS} requests in a row with 5xx`,
  foreign: `answered ${MAX_SERVER_ERRORS} requests in a row with 5xx, or not as an API server does`,
  relayRefused: 'is a relay that does not serve this node',
};

/**
 * Chooses which API server is used: one list, tried in order. The kubeconfig's server is the preferred one, then
 * come the further ones; relays come before all. Its first server is the one in use. Its listeners are notified
 * when that changes.
 *
 *     preferred ── no answer, or 3 x 5xx in a row ──▶ next ── the same ──▶ next … ──▶ preferred
 *         ▲                                              │
 *         └─── a minute later a list from it arrives ────┘
 *
 * The return is to the first server of the list that sends one. 4xx are answers. After a return open watches move: the
 * other server may lag behind. At any other change they stay where they are, because they may be the only ones that
 * still bring changes. A server that answers one list and not all, such as a relay that is full, would move them for
 * ever: its return comes later each time.
 */
export class Failover implements ServerAccess {
  readonly #options: FailoverOptions;
  readonly #listeners = new Set<() => void>();
  readonly #unsubscribe: () => void;
  #inUse: InUse;
  /** How many times `returnMs` the next return waits. */
  #longer = 1;
  /** The next attempt to return, or the one under way. */
  #returning: NodeJS.Timeout | undefined;
  /** Servers tried since one answered: after all of them the log is quiet. */
  #tried = 0;
  #switches = 0;

  /** Throws `InvalidSettings` if the servers have different schemes, or if the authority of relays cannot be used. */
  constructor(options: FailoverOptions) {
    const { credentials, servers = [], relays } = options;
    this.#options = options;
    const { protocol, href } = this.#preferred;
    this.#inUse = { href, since: Number.NEGATIVE_INFINITY, isReturn: false, errors: 0 };
    if (relays !== undefined) {
      const { caFile } = relays;
      reading(`the file ${caFile} of relays.caFile`, () =>
        assertCertificates(readFileSync(caFile)),
      );
    }
    const other = [...credentials.servers, ...servers].find(
      (server) => server.protocol !== protocol,
    );
    if (other !== undefined) {
      const problem = `servers: ${other.origin} must use ${protocol.slice(0, -1)}, as the server of the kubeconfig does`;
      throw new WrapperError('InvalidSettings', problem);
    }
    this.#unsubscribe = credentials.onTlsChange(() => this.#onCredentialsChange());
  }

  /** The server in use first, then the others in the order in which they are tried; at least one. */
  get servers(): readonly [URL, ...URL[]] {
    const all = this.#all();
    const index = Math.max(
      0,
      all.findIndex(({ href }) => href === this.#inUse.href),
    );
    return [...all.slice(index), ...all.slice(0, index)] as [URL, ...URL[]];
  }

  /** How often the server in use has changed. */
  get switches(): number {
    return this.#switches;
  }

  /** @param server default: the server of the credentials */
  tls(server?: URL): TlsOptions {
    const { credentials, relays } = this.#options;
    if (relays === undefined || server === undefined || !this.isRelay(server)) {
      return credentials.tls();
    }
    return { ca: readFileSync(relays.caFile) };
  }

  isRelay(server: URL): boolean {
    return this.#relays.some(({ href }) => href === server.href);
  }

  /** Calls the listener after the server in use or the TLS options have changed. */
  onTlsChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Stops. The credentials are closed by their owner. */
  close(): void {
    clearTimeout(this.#returning);
    this.#returning = undefined;
    this.#unsubscribe();
    this.#listeners.clear();
  }

  /** Records how a request to a server ended. */
  report(server: URL, end: RequestEnd): void {
    if (server.href !== this.#inUse.href) return;
    const { failover } = REQUEST_ENDS[end];
    if (failover === 'stays') {
      this.#inUse.errors = 0;
      this.#tried = 0;
    } else if (failover === 'counts') {
      if (++this.#inUse.errors >= MAX_SERVER_ERRORS) this.#next(end);
    } else if (failover === 'next') {
      this.#next(end);
    }
  }

  /**
   * Gives up a server that has not answered since then. Returns whether another one is tried now: false if all were.
   *
   * @param since monotonic, in milliseconds
   */
  leave(since: number): boolean {
    const untried = this.servers.length - this.#tried;
    if (untried > 1 && this.#inUse.since <= since) this.#next('unreachable');
    return untried > 0 && this.#inUse.since > since;
  }

  /** Uses the next server of the list, if there is another one. */
  #next(end: RequestEnd): void {
    const [from, to] = this.servers;
    if (to === undefined) return;
    this.#tried++;
    const fields = { from: addressOf(from), to: addressOf(to), why: WHY[end] };
    const level = this.#tried < this.servers.length ? 'warn' : 'debug';
    this.#options.logger[level](fields, 'another API server is used');
    const { since, isReturn } = this.#inUse;
    // Only the first after a return counts: those after it may all be full, or gone.
    if (isReturn) {
      const { returnMs = RETURN_MS } = this.#options;
      const isSoon = performance.now() - since < returnMs * this.#longer;
      this.#longer = isSoon ? Math.min(2 * this.#longer, MAX_LONGER) : 1;
    }
    this.#use(to, false);
  }

  /** Uses the first server before the current one from which a list arrives. */
  #returnLater(): void {
    const { tryServer, returnMs = RETURN_MS, onReturn, logger } = this.#options;
    const timer = setTimeout(
      async () => {
        for (const server of this.#all()) {
          if (server.href === this.#inUse.href) break;
          const list = tryServer?.(server) ?? Promise.reject();
          const arrives = await list.then(() => true).catch(() => false);
          if (this.#returning !== timer) return;
          if (!arrives) continue;
          logger.info({ server: addressOf(server) }, 'a preferred API server is used again');
          this.#use(server, true);
          onReturn();
          return;
        }
        this.#returnLater();
      },
      returnMs * this.#longer * (1 + SPREAD * Math.random()),
    );
    this.#returning = timer.unref();
  }

  #use({ href }: URL, isReturn: boolean): void {
    this.#inUse = { href, since: performance.now(), isReturn, errors: 0 };
    this.#switches++;
    this.#onChange();
  }

  #onCredentialsChange(): void {
    if (this.#all().every(({ href }) => href !== this.#inUse.href)) {
      this.#inUse = { ...this.#inUse, href: this.#preferred.href, errors: 0 };
    }
    this.#onChange();
  }

  #onChange(): void {
    const isPreferred = this.#preferred.href === this.#inUse.href;
    clearTimeout(this.#returning);
    this.#returning = undefined;
    if (!isPreferred) this.#returnLater();
    for (const listener of this.#listeners) listener();
  }

  /** All servers by preference. Schemes are never mixed, because plain http would expose the credentials. */
  #all(): URL[] {
    const { credentials, servers = [] } = this.#options;
    const { protocol } = this.#preferred;
    const all = [...this.#relays, ...credentials.servers, ...servers].filter(
      (each) => each.protocol === protocol,
    );
    return [...new Map(all.map((each) => [each.href, each])).values()];
  }

  get #relays(): readonly URL[] {
    return this.#options.relays?.servers ?? [];
  }

  get #preferred(): URL {
    const [server] = [...this.#relays, ...this.#options.credentials.servers];
    if (server !== undefined) return server;
    throw new WrapperError('Credentials', 'the credentials name no API server');
  }
}
