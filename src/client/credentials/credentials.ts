import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { WrapperError } from '../../errors.ts';
import { FileFollower } from '../system/file-follower.ts';
import type { CredentialsReading, TlsOptions } from './credentials-reader.ts';
import { type ReadCredentials, readFromKubeconfig, readInCluster } from './credentials-source.ts';
import type { PluginOptions } from './exec-plugin.ts';
import { TokenFile } from './token-file.ts';

export type { TlsOptions } from './credentials-reader.ts';

/*
 * The room credentials: the wrapper's own identity at the API server, and the server's address.
 *   credentials.ts         what is in use, and follows its files
 *   credentials-source.ts  where they come from: kubeconfigs, or a Pod's service account
 *   kubeconfig.ts          what kubeconfigs define: cluster and user of a context
 *   credentials-reader.ts  headers and certificates of that user
 *   exec-plugin.ts         input, output and limits of credential plugins
 *   token-file.ts          a token that another process rotates
 * It sends nothing, and logs no secret.
 */

export interface CredentialsOptions extends PluginOptions {
  /** Path of a kubeconfig, or several that are read as one; absent: the service account of the Pod this runs in. */
  readonly kubeconfig?: string | readonly string[];
  /** Context of the kubeconfig; absent: its current one. */
  readonly context?: string;
  /** Where KUBERNETES_SERVICE_HOST and _PORT are looked up; default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv;
  /** Folder of the service account's `token` and `ca.crt`; default: where kubelet mounts them. */
  readonly serviceAccountFolder?: string;
  /** How often kubeconfig and certificates are read again, in milliseconds; default 10,000. */
  readonly pollMs?: number;
  /** Age at which a token from a file or a plugin is read again, in milliseconds; default 1,000. */
  readonly tokenMaxAgeMs?: number;
  readonly logger: Logger;
}

/** Names in lower case. A name with several values is sent several times. */
export type RequestHeaders = Readonly<Record<string, string | string[]>>;

/** Where the API server is, and how it is trusted. */
export interface ServerAccess {
  /** URLs of the API server, at least one. A path in a URL is a prefix of all paths. May change, as {@link tls}. */
  readonly servers: readonly URL[];
  /** The current TLS options. */
  tls(): TlsOptions;
  /** Calls the listener after {@link tls} or {@link servers} has changed. Returns a function that removes it. */
  onTlsChange(listener: () => void): () => void;
}

/** The wrapper's identity at the API server. Follows the files that it comes from. */
export interface Credentials extends ServerAccess {
  /**
   * The headers that authenticate a request, names in lower case. If a file becomes unusable, the content read
   * before stays in use.
   */
  headers(): Promise<RequestHeaders>;
  /**
   * Reads everything again, after the API server answered 401. Never rejects. Concurrent calls share one reading.
   */
  refresh(): Promise<void>;
  /** Stops following the files. */
  close(): void;
}

const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';
const TOKEN_MAX_AGE_MS = 1_000;

/**
 * Reads the credentials and follows their files. Rejects with `InvalidSettings` if there is neither a readable
 * kubeconfig nor a service account, and with `Credentials` if what is there cannot be used.
 */
export async function loadCredentials(options: CredentialsOptions): Promise<Credentials> {
  const { kubeconfig, env = process.env } = options;
  const folder = options.serviceAccountFolder ?? SERVICE_ACCOUNT_FOLDER;
  const read =
    kubeconfig === undefined
      ? readInCluster(env, folder)
      : readFromKubeconfig([kubeconfig].flat(), options, options.context);
  const credentials = new FollowedCredentials(read, await read(false), options);
  try {
    await credentials.headers();
  } catch (error) {
    credentials.close();
    throw error;
  }
  return credentials;
}

/**
 * Credentials in use. A {@link FileFollower} reads them again; what it finds is used as a whole or not at all. The
 * token has a file of its own, which is read whenever a request needs it.
 */
class FollowedCredentials implements Credentials {
  readonly #readAll: ReadCredentials;
  readonly #tokenMaxAgeMs: number;
  readonly #logger: Logger;
  readonly #listeners = new Set<() => void>();
  readonly #follower: FileFollower;
  #reading: CredentialsReading;
  #token: TokenFile | undefined;
  #readAt = performance.now();

  constructor(
    read: ReadCredentials,
    reading: CredentialsReading,
    { logger, pollMs, tokenMaxAgeMs = TOKEN_MAX_AGE_MS }: CredentialsOptions,
  ) {
    this.#readAll = read;
    this.#reading = reading;
    this.#tokenMaxAgeMs = tokenMaxAgeMs;
    this.#logger = logger;
    if (reading.warning !== undefined) logger.warn(reading.warning);
    this.#token = this.#tokenFileOf(reading);
    this.#follower = new FileFollower({
      read: (force) => this.#read(force),
      onFailure: (error) => {
        const err = WrapperError.from(error, 'Credentials');
        logger.error({ err }, 'new credentials cannot be used; the old ones remain in use');
      },
      pollMs,
    });
  }

  get servers(): readonly URL[] {
    return [this.#reading.server];
  }

  tls(): TlsOptions {
    return this.#reading.tls;
  }

  async headers(): Promise<RequestHeaders> {
    const age = performance.now() - this.#readAt;
    if (this.#reading.dynamic && age >= this.#tokenMaxAgeMs) await this.#follower.reread();
    const { headers } = this.#reading;
    if (this.#token === undefined) return headers;
    return { ...headers, authorization: `Bearer ${await this.#token.current()}` };
  }

  async refresh(): Promise<void> {
    await this.#follower.forceReread();
    await this.#token?.reread();
  }

  onTlsChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#follower.close();
    this.#listeners.clear();
  }

  async #read(force: boolean): Promise<void> {
    try {
      await this.#replace(await this.#readAll(force));
    } finally {
      this.#readAt = performance.now();
    }
  }

  async #replace(next: CredentialsReading): Promise<void> {
    const last = this.#reading;
    const token = this.#tokenFileOf(next);
    // If a new token file cannot be read, nothing is replaced.
    if (token !== this.#token) await token?.reread();
    this.#reading = next;
    this.#token = token;
    if (next.warning !== undefined && next.warning !== last.warning) {
      this.#logger.warn(next.warning);
    }
    const { href } = next.server;
    if (href === last.server.href && isDeepStrictEqual(last.tls, next.tls)) return;
    this.#logger.info({ server: href }, 'the certificates or the address have changed');
    for (const listener of this.#listeners) listener();
  }

  #tokenFileOf({ tokenFile }: CredentialsReading): TokenFile | undefined {
    if (tokenFile === this.#token?.path) return this.#token;
    if (tokenFile === undefined) return undefined;
    return new TokenFile(tokenFile, this.#tokenMaxAgeMs, this.#logger);
  }
}
