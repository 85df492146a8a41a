import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import type { Credentials, TlsOptions } from '../credentials/credentials.ts';
import { isUsableResponse } from './reachability.ts';
import { addressOf } from './upstream-error.ts';

/**
 * What became of a request: the server could not be reached, took it and did not begin to answer in time, broke
 * (5xx), or answered.
 */
export type Outcome = 'unreachable' | 'silent' | 'broken' | 'answered';

export interface FailoverOptions {
  readonly credentials: Credentials;
  /** Further API servers of the same cluster, with the same authority and credentials, in order of preference. */
  readonly servers: readonly URL[];
  /** How often the preferred server is tried while another one is used, in milliseconds; default 30,000. */
  readonly returnMs?: number;
  readonly logger: Logger;
}

/** So many requests in a row without an answer to go by, and the next server is tried, … */
const BROKEN = 3;
/** … if they are to so many different paths: one collection alone may be what is broken, at all servers. */
const BROKEN_PATHS = 2;
/** So many good answers in a row, and the preferred server is used again. */
const GOOD = 2;
const RETURN_MS = 30_000;

/** Why a server was left, for the log. */
const WHY = {
  unreachable: 'cannot be reached',
  silent: 'does not answer',
  broken: 'answered with 5xx again and again',
} as const;

/**
 * Chooses which of several API servers is used. To all others it looks as if the credentials named that one
 * first, and tells them when it is another.
 *
 * The order is the preference: the kubeconfig's server, then the further ones. The next is taken at once when
 * one cannot be reached or falls silent, and after three 5xx in a row that are not all to one path; 429 and 4xx
 * are answers. Of a server that has answered nothing yet since it was taken, one path says enough: at a start only
 * own Node is asked for, and kube-proxy asks for nothing else until it has that one.
 *
 * While another than the first is in use, the first is asked now and then, and taken again after two good answers;
 * watches stay where they are until they end (5 to 10 minutes), so that going back costs nothing.
 */
export class Failover implements Credentials {
  readonly #credentials: Credentials;
  readonly #further: readonly URL[];
  readonly #returnMs: number;
  readonly #logger: Logger;
  readonly #listeners = new Set<() => void>();
  readonly #unsubscribe: () => void;
  #current: string;
  /** The server in use has answered a request since it was taken. */
  #hasAnswered = false;
  #broken = 0;
  readonly #brokenPaths = new Set<string>();
  /** Servers tried in vain since one answered. */
  #tried = 0;
  #switches = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  /** Asks a server for a sign of life: the status of its answer, or undefined. Set by whoever can. */
  probe: ((server: URL) => Promise<number | undefined>) | undefined;

  /** Throws `InvalidSettings` when the servers do not speak the same scheme. */
  constructor(options: FailoverOptions) {
    this.#credentials = options.credentials;
    this.#further = options.servers;
    this.#returnMs = options.returnMs ?? RETURN_MS;
    this.#logger = options.logger;
    const { protocol, href } = preferred(options.credentials);
    this.#current = href;
    const other = options.servers.find((server) => server.protocol !== protocol);
    if (other !== undefined) {
      const problem = `servers: ${other.origin} is not ${protocol.slice(0, -1)} as that of the kubeconfig`;
      throw new WrapperError('InvalidSettings', problem);
    }
    this.#unsubscribe = options.credentials.onTlsChange(() => this.#credentialsChanged());
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

  /** How often another server was taken. */
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

  /** Stops; the credentials are their owner's to close. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#unsubscribe();
    this.#listeners.clear();
  }

  /** Notes what became of a request to a server. @param path of the request, without its query */
  report(server: URL, outcome: Outcome, path = ''): void {
    if (server.href !== this.#current) return;
    if (outcome === 'answered') {
      this.#mended();
      this.#tried = 0;
      this.#hasAnswered = true;
    } else if (outcome === 'unreachable' || this.#isBroken(outcome, path)) {
      this.#next(outcome);
    }
  }

  #isBroken(outcome: Outcome, path: string): boolean {
    this.#broken++;
    if (this.#brokenPaths.size < BROKEN_PATHS) this.#brokenPaths.add(path);
    // To find out that a server is silent takes a while; three times that is too long for a start.
    if (!this.#hasAnswered) return outcome === 'silent' || this.#broken >= BROKEN;
    return this.#broken >= BROKEN && this.#brokenPaths.size >= BROKEN_PATHS;
  }

  #mended(): void {
    this.#broken = 0;
    this.#brokenPaths.clear();
  }

  /** Nothing is known of the server in use. */
  #startOver(): void {
    this.#mended();
    this.#hasAnswered = false;
  }

  /** Uses a server that was found to answer while the one in use does not. */
  take(server: URL): void {
    const known = this.servers.find(({ href }) => href === server.href);
    const [from] = this.servers;
    if (known === undefined || from === undefined || known === from) return;
    const fields = { from: addressOf(from), to: addressOf(known), why: WHY.silent };
    this.#logger.warn(fields, 'another API server is used');
    this.#use(known);
  }

  #next(outcome: Exclude<Outcome, 'answered'>): void {
    const [from, to] = this.servers;
    if (from === undefined || to === undefined) return;
    this.#tried++;
    const level = this.#tried < this.servers.length ? 'warn' : 'debug';
    const fields = { from: addressOf(from), to: addressOf(to), why: WHY[outcome] };
    this.#logger[level](fields, 'another API server is used');
    this.#use(to);
  }

  #use(server: URL): void {
    this.#current = server.href;
    this.#switches++;
    this.#startOver();
    this.#armReturn(0);
    for (const listener of this.#listeners) listener();
  }

  /** Tries the preferred server after a while, as long as it is not in use. */
  #armReturn(good: number): void {
    clearTimeout(this.#timer);
    const { href } = preferred(this.#credentials);
    if (this.#closed || this.#current === href) return;
    this.#timer = setTimeout(() => void this.#tryReturn(good), this.#returnMs);
    this.#timer.unref();
  }

  async #tryReturn(good: number): Promise<void> {
    const server = preferred(this.#credentials);
    const statusCode = await this.probe?.(server);
    const answered = statusCode !== undefined && isUsableResponse(statusCode);
    if (this.#closed || server.href === this.#current) return;
    if (!answered || good + 1 < GOOD) {
      this.#armReturn(answered ? good + 1 : 0);
      return;
    }
    this.#logger.info({ server: addressOf(server) }, 'the preferred API server is used again');
    this.#use(server);
  }

  #credentialsChanged(): void {
    if (this.#all().every(({ href }) => href !== this.#current)) {
      this.#current = preferred(this.#credentials).href;
      this.#startOver();
    }
    this.#armReturn(0);
    for (const listener of this.#listeners) listener();
  }

  /** All servers by preference. Over plain http no credentials are sent, so that schemes are never mixed. */
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
