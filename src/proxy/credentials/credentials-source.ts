import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { isAbsolute, join, resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { KubeConfig } from '@kubernetes/client-node';
import { WrapperError } from '../../errors.ts';
import { addressText } from '../util/address.ts';
import { assertCertificates } from '../util/pem.ts';
import { boundPlugins } from './exec-plugin.ts';
import { type KubeconfigUser, userFromKubeconfig } from './kubeconfig-user.ts';

/** How a connection to the API server is secured; node:https and node:tls take it as it is. */
export interface TlsOptions {
  /** Authorities the server is checked against, PEM; absent: those of Node. */
  readonly ca?: string | Buffer;
  /** Client certificate, PEM. */
  readonly cert?: string | Buffer;
  /** Key of the client certificate, PEM. */
  readonly key?: string | Buffer;
  /** False only with `insecure-skip-tls-verify`. */
  readonly rejectUnauthorized?: boolean;
  /** Name the server's certificate must bear, if not that of the URL. */
  readonly servername?: string;
}

/** What one reading of the files says. */
export interface Snapshot {
  readonly servers: readonly URL[];
  readonly tls: TlsOptions;
  /** Request headers, names in lower case; without the token of `tokenFile`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Absolute path of the file that holds the bearer token. */
  readonly tokenFile: string | undefined;
  /** Whether headers and certificate expire by themselves, so that they are to be asked for again. */
  readonly dynamic: boolean;
  /** What an operator should know. */
  readonly warning: string | undefined;
}

/** Where credentials come from. */
export interface CredentialsSource {
  /**
   * Reads everything anew. `force` also runs a credential plugin again whose answer has not expired.
   * Throws `Credentials` or `InvalidSettings`.
   */
  read(force: boolean): Promise<Snapshot>;
}

/** Credentials of a kubeconfig file; `pluginMs`: how long a credential plugin may take, in milliseconds. */
export function createKubeconfigSource(path: string, pluginMs: number): CredentialsSource {
  const file = resolve(path);
  let last: { readonly text: string; readonly login: KubeconfigUser } | undefined;
  return {
    async read(force) {
      const text = await readKubeconfig(file);
      // The same login is kept while the file is the same, for it remembers what a credential plugin said.
      if (force || last?.text !== text) {
        last = { text, login: userFromKubeconfig(text, file) };
        boundPlugins(last.login.config, pluginMs);
      }
      return snapshotOf(last.login);
    },
  };
}

/** Credentials of the Pod's service account, as client-go's rest.InClusterConfig reads them. */
export function createInClusterSource(env: NodeJS.ProcessEnv, folder: string): CredentialsSource {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port) {
    throw new WrapperError(
      'InvalidSettings',
      'no kubeconfig is set, and KUBERNETES_SERVICE_HOST and _PORT say of no cluster around; set a kubeconfig',
    );
  }
  const server = `https://${addressText({ host, port })}`;
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'in-cluster', server, caFile: join(folder, 'ca.crt'), skipTLSVerify: false },
    { name: 'service-account' },
  );
  const login: KubeconfigUser = {
    config,
    server: new URL(server),
    file: folder,
    tokenFile: join(folder, 'token'),
    dynamic: false,
    warning: undefined,
  };
  return { read: () => snapshotOf(login) };
}

async function readKubeconfig(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new WrapperError(
      'InvalidSettings',
      `the kubeconfig ${file} cannot be read (${codeOf(error)}); check the path and its permissions`,
      { cause: error },
    );
  }
}

/** Lets KubeConfig collect certificates and headers, and checks that they can be used. */
async function snapshotOf(login: KubeconfigUser): Promise<Snapshot> {
  const { server, tokenFile, dynamic, warning } = login;
  const shared = { servers: [server], dynamic, warning };
  if (server.protocol === 'http:') return { ...shared, tls: {}, headers: {}, tokenFile: undefined };
  const options: RequestOptions = {};
  try {
    await login.config.applyToHTTPSOptions(options);
  } catch (error) {
    throw loginError(error, login);
  }
  const tls = tlsOf(options);
  assertUsable(tls, login.file);
  return { ...shared, tls, headers: headersOf(options, login.file), tokenFile };
}

function tlsOf(options: RequestOptions): TlsOptions {
  const { ca, cert, key, servername } = options;
  return {
    rejectUnauthorized: options.rejectUnauthorized !== false,
    ...(isPem(ca) ? { ca } : {}),
    ...(isPem(cert) ? { cert } : {}),
    ...(isPem(key) ? { key } : {}),
    ...(servername === undefined ? {} : { servername }),
  };
}

function isPem(value: unknown): value is string | Buffer {
  return typeof value === 'string' || Buffer.isBuffer(value);
}

function headersOf(options: RequestOptions, file: string): Record<string, string> {
  const headers: Record<string, string> = {};
  if (options.auth) {
    headers.authorization = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  }
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    const text = String(value).trim();
    if (/[^\x20-\x7e]/.test(text)) {
      throw unusable(file, `its ${name} holds characters that no header can carry`);
    }
    headers[name.toLowerCase()] = text;
  }
  return headers;
}

/** Throws for certificates that are half-written or do not fit: Node takes an empty `ca` without a word. */
function assertUsable(tls: TlsOptions, file: string): void {
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    throw unusable(file, 'of the client certificate and its key only one is there');
  }
  try {
    if (tls.ca !== undefined) assertCertificates(tls.ca);
    if (tls.cert !== undefined) assertCertificates(tls.cert);
    createSecureContext(tls);
  } catch (error) {
    throw unusable(file, `its certificates cannot be used: ${messageOf(error)}`, error);
  }
}

/**
 * A file that is missing, or a credential plugin that fails. What a plugin printed is never shown: it may
 * hold the token, and JSON.parse quotes what it could not read.
 */
function loginError(error: unknown, { file, dynamic }: KubeconfigUser): WrapperError {
  const path = (error as NodeJS.ErrnoException).path;
  if (typeof path === 'string' && isAbsolute(path)) {
    const problem = `the file ${path} it names cannot be read (${codeOf(error)})`;
    return unusable(file, problem, error);
  }
  if (dynamic) {
    return unusable(
      file,
      `its credential plugin failed (${codeOf(error)}); run it by hand to see why`,
    );
  }
  return unusable(file, messageOf(error), error);
}

function unusable(file: string, problem: string, cause?: unknown): WrapperError {
  const message = `the credentials of ${file} cannot be used: ${problem}`;
  return new WrapperError('Credentials', message, cause === undefined ? {} : { cause });
}

function codeOf(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException;
  return code ?? name;
}

function messageOf(error: unknown): string {
  return (error as Error).message;
}
