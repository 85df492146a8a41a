import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { reading } from '../../text/read-yaml.ts';
import type { RequestEnd } from '../api/request-end.ts';
import type { Credentials, ServerAccess, TlsOptions } from '../credentials/credentials.ts';
import { assertCertificates } from '../system/pem.ts';
import {
  initialChoice,
  inOrder,
  MAX_SERVER_ERRORS,
  nextChoice,
  type ServerChoice,
  type ServerEvent,
} from './server-choice.ts';
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

const RETURN_MS = 60_000;
/** So much of the time until a return is added at random, so that the nodes of a cluster do not return in step. */
const SPREAD = 0.25;

/** Why a server was left, for the log. */
const WHY: Partial<Record<RequestEnd | ServerEvent['type'], string>> = {
  silent: 'does not answer',
  unserved: 'is a relay that has brought neither a list nor a watch for 30 s',
  unreachable: 'does not answer',
  serverError: `answered ${MAX_SERVER_ERRORS} requests in a row with 5xx`,
  foreign: `answered ${MAX_SERVER_ERRORS} requests in a row with 5xx, or not as an API server does`,
  relayRefused: 'is a relay that does not serve this node',
};

/**
 * Chooses which API server is used: one list, tried in order. The kubeconfig's server is the preferred one, then
 * come the further ones; relays come before all. {@link nextChoice} decides which one is in use; this class has the
 * timers, the log, and the listeners that are notified when that changes.
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
  #choice: ServerChoice;
  /** The next attempt to return, or the one under way. */
  #returning: NodeJS.Timeout | undefined;
  #switches = 0;

  /** Throws `InvalidSettings` if API servers have different schemes, or if the authority of relays cannot be used. */
  constructor(options: FailoverOptions) {
    const { credentials, servers = [], relays } = options;
    this.#options = options;
    this.#choice = initialChoice(this.#all().map(({ href }) => href));
    if (relays !== undefined) {
      const { caFile } = relays;
      reading(`the file ${caFile} of relays.caFile`, () =>
        assertCertificates(readFileSync(caFile)),
      );
    }
    const protocol = this.#protocol;
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
    const all = new Map(this.#all().map((server) => [server.href, server]));
    return inOrder(this.#choice).flatMap((href) => all.get(href) ?? []) as [URL, ...URL[]];
  }

  /** Since when the relay in use is used; monotonic, in milliseconds. Undefined: an API server is in use. */
  get relaySince(): number | undefined {
    return this.isRelay(this.servers[0]) ? this.#choice.since : undefined;
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

  /** Reports how a request to a server ended. */
  report(server: URL, end: RequestEnd): void {
    this.#handle({ type: 'ended', server: server.href, end }, end);
  }

  /**
   * Gives up a server that has not answered since then. Returns whether another one is tried now: false if all were.
   *
   * @param since monotonic, in milliseconds
   */
  leaveServer(since: number): boolean {
    const untried = this.#choice.servers.length - this.#choice.left;
    this.#handle({ type: 'silent', since }, 'silent');
    return untried > 0 && this.#choice.since > since;
  }

  /** Gives up a relay that has brought a query nothing since then, if it has been in use since then. */
  leaveRelay(since: number): void {
    if (this.relaySince !== undefined) this.#handle({ type: 'unserved', since }, 'unserved');
  }

  #handle(event: ServerEvent, why: keyof typeof WHY): void {
    const { returnMs = RETURN_MS } = this.#options;
    const [from] = this.servers;
    const before = this.#choice;
    this.#choice = nextChoice(before, event, { now: performance.now(), returnMs });
    if (this.#choice.inUse === before.inUse) return;
    const { left, servers } = this.#choice;
    const fields = { from: addressOf(from), to: addressOf(this.servers[0]), why: WHY[why] };
    // After all of them the log is quiet.
    const level = left < servers.length ? 'warn' : 'debug';
    this.#options.logger[level](fields, 'another API server is used');
    this.#onSwitch();
  }

  /** Uses the first server before the current one from which a list arrives. */
  #returnLater(): void {
    const { tryServer, returnMs = RETURN_MS, onReturn, logger } = this.#options;
    const timer = setTimeout(
      async () => {
        for (const server of this.#all()) {
          if (server.href === this.#choice.inUse) break;
          const list = tryServer?.(server) ?? Promise.reject();
          const arrives = await list.then(() => true).catch(() => false);
          if (this.#returning !== timer) return;
          if (!arrives) continue;
          logger.info({ server: addressOf(server) }, 'a preferred API server is used again');
          const event = { type: 'listed', server: server.href } as const;
          this.#choice = nextChoice(this.#choice, event, { now: performance.now(), returnMs });
          this.#onSwitch();
          onReturn();
          return;
        }
        this.#returnLater();
      },
      returnMs * this.#choice.longer * (1 + SPREAD * Math.random()),
    );
    this.#returning = timer.unref();
  }

  #onSwitch(): void {
    this.#switches++;
    this.#onChange();
  }

  #onCredentialsChange(): void {
    const { returnMs = RETURN_MS } = this.#options;
    const event = { type: 'replaced', servers: this.#all().map(({ href }) => href) } as const;
    this.#choice = nextChoice(this.#choice, event, { now: performance.now(), returnMs });
    this.#onChange();
  }

  #onChange(): void {
    const isPreferred = this.#choice.servers[0] === this.#choice.inUse;
    clearTimeout(this.#returning);
    this.#returning = undefined;
    if (!isPreferred) this.#returnLater();
    for (const listener of this.#listeners) listener();
  }

  /**
   * All servers by preference. API servers have one scheme, because plain http would expose the credentials that
   * belong to https. Relays have https, also before a cache on this machine that has plain http.
   */
  #all(): URL[] {
    const { credentials, servers = [] } = this.#options;
    const protocol = this.#protocol;
    const own = [...credentials.servers, ...servers].filter((each) => each.protocol === protocol);
    const all = [...this.#relays, ...own];
    return [...new Map(all.map((each) => [each.href, each])).values()];
  }

  /** The scheme of the API servers. */
  get #protocol(): string {
    const [server] = this.#options.credentials.servers;
    if (server !== undefined) return server.protocol;
    throw new WrapperError('Credentials', 'the credentials name no API server');
  }

  get #relays(): readonly URL[] {
    return this.#options.relays?.servers ?? [];
  }
}
