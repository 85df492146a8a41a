import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import {
  type CredentialsSource,
  createInClusterSource,
  createKubeconfigSource,
  type Snapshot,
  type TlsOptions,
} from './credentials-source.ts';
import { TokenFile } from './token-file.ts';

export type { TlsOptions } from './credentials-source.ts';

export interface CredentialsOptions {
  /** Path of a kubeconfig; absent: the service account of the Pod this runs in. */
  readonly kubeconfig?: string;
  /** Where KUBERNETES_SERVICE_HOST and _PORT are looked up; default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv;
  /** Folder of the service account's `token` and `ca.crt`; default: where kubelet mounts them. */
  readonly serviceAccountFolder?: string;
  /** How often kubeconfig and certificates are looked at again, in milliseconds; default 10,000. */
  readonly pollMs?: number;
  /** How long a token that was read from a file or a plugin is taken for current, in milliseconds; default 1,000. */
  readonly tokenMaxAgeMs?: number;
  /** How long a credential plugin may take before it is killed, in milliseconds; default 60,000. */
  readonly pluginMs?: number;
  readonly logger: Logger;
}

/** Who the wrapper is at the API server, and where that is. Follows the files it was read from. */
export interface Credentials {
  /** URLs of the API server, at least one; a path in it is a prefix of all paths. May change as {@link tls}. */
  readonly servers: readonly URL[];
  /**
   * The headers that authenticate a request, names in lower case. Never rejects for a file that went bad:
   * what was read before stays in force.
   */
  headers(): Promise<Readonly<Record<string, string>>>;
  /** How to connect, at present. */
  tls(): TlsOptions;
  /**
   * Reads everything anew, after the API server answered 401. Never rejects; calls that come meanwhile share
   * the reading.
   */
  refresh(): Promise<void>;
  /** Calls the listener after {@link tls} or {@link servers} has changed; returns how to stop that. */
  onTlsChange(listener: () => void): () => void;
  /** Stops following the files. */
  close(): void;
}

const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';
const POLL_MS = 10_000;
const TOKEN_MAX_AGE_MS = 1_000;
const PLUGIN_MS = 60_000;

/**
 * Reads the credentials and follows their files from then on. Rejects with `InvalidSettings` when there is
 * no kubeconfig to be read and no cluster around, and with `Credentials` when what is there cannot be used.
 */
export async function loadCredentials(options: CredentialsOptions): Promise<Credentials> {
  const { kubeconfig, env = process.env, logger } = options;
  const folder = options.serviceAccountFolder ?? SERVICE_ACCOUNT_FOLDER;
  const source =
    kubeconfig === undefined
      ? createInClusterSource(env, folder)
      : createKubeconfigSource(kubeconfig, options.pluginMs ?? PLUGIN_MS);
  const snapshot = await source.read(false);
  const credentials = new FollowedCredentials(source, snapshot, options, logger);
  try {
    await credentials.headers();
  } catch (error) {
    credentials.close();
    throw error;
  }
  return credentials;
}

/** Compares contents, not times: Kubernetes swaps a symlink to a whole new folder under a projected volume. */
class FollowedCredentials implements Credentials {
  readonly #source: CredentialsSource;
  readonly #tokenMaxAgeMs: number;
  readonly #logger: Logger;
  readonly #listeners = new Set<() => void>();
  readonly #timer: NodeJS.Timeout;
  #snapshot: Snapshot;
  #token: TokenFile | undefined;
  #readAt = performance.now();
  #reading: Promise<void> | undefined;
  #refreshing: Promise<void> | undefined;
  #complaint = '';
  #warning: string | undefined;

  constructor(
    source: CredentialsSource,
    snapshot: Snapshot,
    options: Pick<CredentialsOptions, 'pollMs' | 'tokenMaxAgeMs'>,
    logger: Logger,
  ) {
    this.#source = source;
    this.#snapshot = snapshot;
    this.#tokenMaxAgeMs = options.tokenMaxAgeMs ?? TOKEN_MAX_AGE_MS;
    this.#logger = logger;
    this.#install(snapshot, this.#tokenFileOf(snapshot));
    this.#timer = setInterval(() => void this.#read(), options.pollMs ?? POLL_MS);
    this.#timer.unref();
  }

  get servers(): readonly URL[] {
    return this.#snapshot.servers;
  }

  tls(): TlsOptions {
    return this.#snapshot.tls;
  }

  async headers(): Promise<Readonly<Record<string, string>>> {
    const age = performance.now() - this.#readAt;
    if (this.#snapshot.dynamic && age >= this.#tokenMaxAgeMs) await this.#read();
    const { headers } = this.#snapshot;
    if (this.#token === undefined) return headers;
    return { ...headers, authorization: `Bearer ${await this.#token.current()}` };
  }

  async refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    await this.#refreshing;
  }

  onTlsChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#listeners.clear();
  }

  async #refresh(): Promise<void> {
    // A reading under way may have begun before the files changed.
    await this.#reading;
    await this.#read(true);
    await this.#token?.reread();
  }

  async #read(force = false): Promise<void> {
    this.#reading ??= this.#readNow(force).finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #readNow(force: boolean): Promise<void> {
    try {
      const snapshot = await this.#source.read(force);
      await this.#adopt(snapshot);
      this.#complaint = '';
    } catch (error) {
      const problem = WrapperError.from(error, 'Credentials');
      if (problem.message !== this.#complaint) {
        this.#logger.error({ err: problem }, 'the credentials read before are kept');
      }
      this.#complaint = problem.message;
    }
    this.#readAt = performance.now();
  }

  async #adopt(next: Snapshot): Promise<void> {
    const last = this.#snapshot;
    const token = this.#tokenFileOf(next);
    // Taken over as a whole or, when its token file cannot be read, not at all.
    if (token !== this.#token) await token?.reread();
    this.#install(next, token);
    if (isDeepStrictEqual(hrefs(last), hrefs(next)) && isDeepStrictEqual(last.tls, next.tls))
      return;
    this.#logger.info({ servers: hrefs(next) }, 'the certificates or the address have changed');
    for (const listener of this.#listeners) listener();
  }

  #tokenFileOf({ tokenFile }: Snapshot): TokenFile | undefined {
    if (tokenFile === this.#token?.path) return this.#token;
    if (tokenFile === undefined) return undefined;
    return new TokenFile(tokenFile, this.#tokenMaxAgeMs, this.#logger);
  }

  #install(snapshot: Snapshot, token: TokenFile | undefined): void {
    const { warning } = snapshot;
    if (warning !== undefined && warning !== this.#warning) this.#logger.warn(warning);
    this.#warning = warning;
    this.#snapshot = snapshot;
    this.#token = token;
  }
}

function hrefs(snapshot: Snapshot): string[] {
  return snapshot.servers.map((server) => server.href);
}
