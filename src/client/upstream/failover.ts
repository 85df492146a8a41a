import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import type { RequestEnd } from '../api/request-end.ts';
import type { Credentials, ServerAccess, TlsOptions } from '../credentials/credentials.ts';
import { Relays, type RelaysOptions } from './relays.ts';
import {
  initialChoice,
  inOrder,
  MAX_SERVER_ERRORS,
  nextChoice,
  type ServerChoice,
  type ServerEvent,
} from './server-choice.ts';
import { addressOf, describeCause } from './upstream-error.ts';

export interface FailoverOptions {
  readonly credentials: Credentials;
  /** Tried before the API servers; default: none. */
  readonly relays?: RelaysOptions | undefined;
  /** Further API servers of the same cluster, with the same authority and credentials, in order; default: none. */
  readonly servers?: readonly URL[];
  /**
   * Servers before the one in use are tried again after this time, in milliseconds; default 60,000. If the server of a
   * return is left again within the time, the next return takes twice as long, up to 16 times `returnMs`.
   */
  readonly returnMs?: number;
  /**
   * How long only relays are tried at the start, in milliseconds, because those of a site that boots boot too; or
   * without a snapshot to show meanwhile. Default: API servers are tried from the start.
   */
  readonly relayWaitMs?: { readonly withSnapshot: number; readonly without: number } | undefined;
  /** Whether there is a connection to a server; default: there is none. */
  readonly isConnected?: (server: URL) => boolean;
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
  unserved: 'has brought neither a list nor a watch for 30 s',
  unreachable: 'does not answer',
  serverError: `answered ${MAX_SERVER_ERRORS} requests in a row with 5xx`,
  foreign: `answered ${MAX_SERVER_ERRORS} requests in a row with 5xx, or not as an API server does`,
  relayRefused: 'does not serve this node',
  waited: 'has not answered since the start',
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
  readonly #relays: Relays | undefined;
  #choice: ServerChoice;
  /** The next attempt to return, or the one under way. */
  #returning: NodeJS.Timeout | undefined;
  /** Ends the wait for relays. */
  #waiting: NodeJS.Timeout | undefined;
  readonly #startedAt = performance.now();
  #relayBootsUntil = Number.NEGATIVE_INFINITY;
  #switches = 0;
  /** Why the last attempt to use each relay failed, by URL. */
  readonly #relayFailures = new Map<string, string>();

  /** Throws `InvalidSettings` if API servers have different schemes. */
  constructor(options: FailoverOptions) {
    const { credentials, servers = [], relays, logger } = options;
    this.#options = options;
    const protocol = this.#protocol;
    const other = [...credentials.servers, ...servers].find(
      (server) => server.protocol !== protocol,
    );
    if (other !== undefined) {
      const message = `servers: ${other.origin} must use ${protocol.slice(0, -1)}, as the server of the kubeconfig does`;
      throw new WrapperError('InvalidSettings', message);
    }
    this.#relays = relays && new Relays(relays, logger, () => this.#onReplaced());
    const { relayWaitMs } = options;
    const first = this.#candidates(relayWaitMs !== undefined);
    this.#choice = initialChoice(first.servers, first.held);
    if (relayWaitMs !== undefined) {
      this.#waitUntil(relayWaitMs.withSnapshot);
      this.#relayBootsUntil = this.#startedAt + relayWaitMs.withSnapshot;
    }
    this.#unsubscribe = credentials.onTlsChange(() => this.#onReplaced());
  }

  /** The server in use first, then the others in the order in which they are tried; at least one. */
  get servers(): readonly [URL, ...URL[]] {
    const all = new Map(this.#all().map((server) => [server.href, server]));
    const hrefs = [...inOrder(this.#choice), ...this.#choice.held];
    return hrefs.flatMap((href) => all.get(href) ?? []) as [URL, ...URL[]];
  }

  /** Whether only relays are tried yet. */
  get waitsForRelays(): boolean {
    return this.#choice.held.length > 0;
  }

  /**
   * Until when a relay of a site that boots may be slow, because all nodes of the site read from it: as long as there
   * are snapshots to show. Monotonic, in milliseconds.
   */
  get relayBootsUntil(): number {
    return this.#relayBootsUntil;
  }

  /** A query has nothing to show while relays are waited for. */
  reportNoSnapshot(): void {
    const { relayWaitMs } = this.#options;
    this.#relayBootsUntil = Number.NEGATIVE_INFINITY;
    if (relayWaitMs !== undefined && this.waitsForRelays) this.#waitUntil(relayWaitMs.without);
  }

  /** Since when the server in use is used; monotonic, in milliseconds. */
  get inUseSince(): number {
    return this.#choice.since;
  }

  /** The same of a relay. Undefined: an API server is in use. */
  get relaySince(): number | undefined {
    return this.isRelay(this.servers[0]) ? this.inUseSince : undefined;
  }

  /** How often the server in use has changed. */
  get switches(): number {
    return this.#switches;
  }

  /** @param server default: the server of the credentials */
  tls(server?: URL): TlsOptions {
    const isRelay = server !== undefined && this.isRelay(server);
    return isRelay && this.#relays !== undefined
      ? this.#relays.tls
      : this.#options.credentials.tls();
  }

  /** @param server one of {@link servers}, now or before */
  isRelay(server: URL): boolean {
    return this.#relays?.isRelay(server) ?? false;
  }

  /** Why no relay is used; undefined: they may be, or there are none. */
  get relayProblem(): string | undefined {
    return this.#relays?.problem;
  }

  /** Why the last attempt to use the first relay failed; undefined: one is used, or the cause is not known. */
  get relayFailure(): string | undefined {
    return this.#relayFailures.get(this.#relays?.servers[0]?.href ?? '');
  }

  /** Whether the settings have relays. There may be none now. */
  get hasRelays(): boolean {
    return this.#relays !== undefined;
  }

  /** Calls the listener after the server in use or the TLS options have changed. */
  onTlsChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Stops. The credentials are closed by their owner. */
  close(): void {
    clearTimeout(this.#waiting);
    clearTimeout(this.#returning);
    this.#returning = undefined;
    this.#unsubscribe();
    this.#relays?.close();
    this.#listeners.clear();
  }

  /**
   * Uses other relays, or another order, from now on. A relay in use that remains stays in use, and open watches stay
   * where they are.
   *
   * @param problem why there are none
   */
  replaceRelays(servers: readonly URL[], problem?: string): void {
    if (this.#relays?.replace(servers, problem) !== true) return;
    this.#relayFailures.clear();
    const { inUse, returnFactor } = this.#choice;
    this.#replaceServers();
    if (this.#choice.inUse !== inUse) this.#onSwitch();
    else this.#scheduleReturn(this.#choice.returnFactor < returnFactor);
  }

  /**
   * Reports how a request to a server ended.
   *
   * @param since when it was sent; monotonic, in milliseconds
   * @param cause what is known besides, for the log
   */
  report(server: URL, since: number, end: RequestEnd, cause?: string): void {
    this.#handle({ type: 'ended', server: server.href, since, end }, end, cause);
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

  #handle(event: ServerEvent, why: keyof typeof WHY, cause?: string): void {
    const next = this.#next(event);
    // Nearly all events end here: each answer is one, and so are the events of a watch.
    if (next.inUse === this.#choice.inUse) {
      this.#choice = next;
      return;
    }
    const [from] = this.servers;
    if (this.isRelay(from)) this.#relayFailures.set(from.href, cause ?? WHY[why] ?? '');
    this.#choice = next;
    const { left, servers } = next;
    const [to] = this.servers;
    const fields = { from: this.#name(from), to: this.#name(to), why: WHY[why], err: cause };
    // After all of them the log is quiet.
    const level = left < servers.length ? 'warn' : 'debug';
    this.#options.logger[level](fields, switchText(this.isRelay(from), this.isRelay(to)));
    // Relays that are waited for have their turn each second.
    if (this.waitsForRelays) this.#onChange();
    else this.#onSwitch();
  }

  #returnLater(): void {
    const { returnMs = RETURN_MS } = this.#options;
    const delayMs = returnMs * this.#choice.returnFactor * (1 + SPREAD * Math.random());
    const attempt = setTimeout(() => void this.#tryToReturn(attempt), delayMs).unref();
    this.#returning = attempt;
  }

  /** Uses the first server before the current one from which a list arrives. Never rejects. */
  async #tryToReturn(attempt: NodeJS.Timeout): Promise<void> {
    for (const server of this.#all()) {
      if (server.href === this.#choice.inUse) break;
      const list = this.#options.tryServer?.(server) ?? Promise.reject();
      const failure = await list.then(() => undefined, describeCause);
      if (this.#returning !== attempt) return;
      // A relay may have been replaced meanwhile.
      if (!this.#choice.servers.includes(server.href)) continue;
      if (failure !== undefined) {
        if (this.isRelay(server)) this.#relayFailed(server, failure);
        continue;
      }
      this.#relayFailures.clear();
      const text = this.isRelay(server) ? 'a relay' : 'a preferred API server';
      this.#options.logger.info({ server: addressOf(server) }, `${text} is used again`);
      this.#choice = this.#next({ type: 'listed', server: server.href });
      this.#onSwitch();
      this.#options.onReturn();
      return;
    }
    this.#returnLater();
  }

  /** What is wrong may be something else than at the switch, which the log has. */
  #relayFailed(server: URL, err: string): void {
    const known = this.#relayFailures.get(server.href) ?? '';
    // The switch knows the number of a status, and not its message.
    const isNews = known === '' || !err.startsWith(known);
    this.#relayFailures.set(server.href, err);
    if (!isNews) return;
    const fields = { server: addressOf(server), err };
    const text =
      this.relaySince === undefined
        ? 'an API server is still used instead of a relay'
        : 'another relay is still used';
    this.#options.logger.warn(fields, text);
  }

  #onSwitch(): void {
    this.#switches++;
    this.#onChange();
  }

  /** Credentials or relays name other servers, or other authorities. */
  #onReplaced(): void {
    this.#replaceServers();
    this.#onChange();
  }

  #replaceServers(): void {
    this.#choice = this.#next({ type: 'replaced', ...this.#candidates(this.waitsForRelays) });
  }

  #next(event: ServerEvent): ServerChoice {
    const { returnMs = RETURN_MS } = this.#options;
    return nextChoice(this.#choice, event, { now: performance.now(), returnMs });
  }

  /** @param waits whether API servers are held back if there are relays */
  #candidates(waits: boolean): Pick<ServerChoice, 'servers' | 'held'> {
    const hrefs = this.#all().map(({ href }) => href);
    const relays = this.#relays?.servers.length ?? 0;
    const end = waits && relays > 0 ? relays : hrefs.length;
    return { servers: hrefs.slice(0, end), held: hrefs.slice(end) };
  }

  /** @param ms since the start */
  #waitUntil(ms: number): void {
    clearTimeout(this.#waiting);
    const leftMs = Math.max(0, this.#startedAt + ms - performance.now());
    this.#waiting = setTimeout(() => {
      const isConnected = this.#options.isConnected?.(this.servers[0]) === true;
      this.#handle({ type: 'waited', isConnected }, 'waited');
    }, leftMs).unref();
  }

  #onChange(): void {
    this.#scheduleReturn(true);
    for (const listener of this.#listeners) listener();
  }

  /** @param isAnew false: an attempt that is due stays, because the order of relays may change more often */
  #scheduleReturn(isAnew: boolean): void {
    const isPreferred = this.#choice.servers[0] === this.#choice.inUse;
    if (isAnew || isPreferred) {
      clearTimeout(this.#returning);
      this.#returning = undefined;
    }
    if (!isPreferred && this.#returning === undefined) this.#returnLater();
  }

  /**
   * All servers by preference. API servers have one scheme, because plain http would expose the credentials that
   * belong to https. Relays have https, also before a cache on this machine that has plain http.
   */
  #all(): URL[] {
    const { credentials, servers = [] } = this.#options;
    const protocol = this.#protocol;
    const own = [...credentials.servers, ...servers].filter(
      (server) => server.protocol === protocol,
    );
    const all = [...(this.#relays?.servers ?? []), ...own];
    // The first of each URL: a relay that is listed as an API server too gets no client certificate.
    return [
      ...new Map(all.toReversed().map((server) => [server.href, server])).values(),
    ].toReversed();
  }

  #name(server: URL): string {
    return `${this.isRelay(server) ? 'relay ' : ''}${addressOf(server)}`;
  }

  /** The scheme of the API servers. */
  get #protocol(): string {
    const [server] = this.#options.credentials.servers;
    if (server !== undefined) return server.protocol;
    throw new WrapperError('Credentials', 'the credentials name no API server');
  }
}

function switchText(isFromRelay: boolean, isToRelay: boolean): string {
  if (isFromRelay === isToRelay) return `another ${isToRelay ? 'relay' : 'API server'} is used`;
  return isToRelay
    ? 'a relay is tried instead of an API server'
    : 'an API server is used instead of a relay';
}
