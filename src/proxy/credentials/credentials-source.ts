import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { isAbsolute, join, resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import { WrapperError } from '../../errors.ts';
import { addressText } from '../../util/address.ts';
import { messageOf } from '../../util/message-of.ts';
import { assertCertificates } from '../util/pem.ts';
import { limitPlugin } from './exec-plugin.ts';
import type { KubeconfigFile } from './kubeconfig-schema.ts';
import { type KubeconfigUser, userFromKubeconfig } from './kubeconfig-user.ts';

/** TLS options of a connection to the API server, in the form of node:https and node:tls. */
export interface TlsOptions {
  /** Authorities that the server's certificate must come from, PEM; absent: those of Node. */
  readonly ca?: string | Buffer;
  /** Client certificate, PEM. */
  readonly cert?: string | Buffer;
  /** Key of the client certificate, PEM. */
  readonly key?: string | Buffer;
  /** False only with `insecure-skip-tls-verify`. */
  readonly rejectUnauthorized?: boolean;
  /** Name that the server's certificate must have, if not that of the URL. */
  readonly servername?: string;
}

/** The content of the files at one reading. */
export interface Snapshot {
  readonly servers: readonly URL[];
  readonly tls: TlsOptions;
  /** Request headers, names in lower case; without the token of `tokenFile`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Absolute path of the file that holds the bearer token. */
  readonly tokenFile: string | undefined;
  /** Whether headers and certificate expire, so that they must be read again. */
  readonly dynamic: boolean;
  /** Warning for the operator. */
  readonly warning: string | undefined;
}

/**
 * Reads all credentials again. `force` also runs a credential plugin whose answer has not expired. Rejects with
 * `Credentials` or `InvalidSettings`.
 */
export type ReadCredentials = (force: boolean) => Promise<Snapshot>;

/**
 * Reads credentials from kubeconfig files.
 *
 * @param paths several are read as one; then those that do not exist are left out, as kubectl does
 * @param pluginMs time limit for a credential plugin, in milliseconds
 * @param context default: the first current context
 */
export function readFromKubeconfig(
  paths: readonly string[],
  pluginMs: number,
  context?: string,
): ReadCredentials {
  let last:
    | { readonly files: readonly KubeconfigFile[]; readonly user: KubeconfigUser }
    | undefined;
  return async (force) => {
    const files = await readKubeconfigs(paths.map((path) => resolve(path)));
    // An unchanged file keeps its user, because KubeConfig caches the answer of a credential plugin in it.
    if (force || last === undefined || !isDeepStrictEqual(last.files, files)) {
      last = { files, user: userFromKubeconfig(files, context) };
      limitPlugin(last.user.config, pluginMs);
    }
    return snapshotOf(last.user);
  };
}

/** Reads credentials of the Pod's service account, as client-go's rest.InClusterConfig. */
export function readInCluster(env: NodeJS.ProcessEnv, folder: string): ReadCredentials {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port) {
    throw new WrapperError(
      'InvalidSettings',
      'no kubeconfig is set, and KUBERNETES_SERVICE_HOST and _PORT are not set, so this is not a Pod; set a kubeconfig',
    );
  }
  const server = `https://${addressText({ host, port })}`;
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'in-cluster', server, caFile: join(folder, 'ca.crt'), skipTLSVerify: false },
    { name: 'service-account' },
  );
  const user: KubeconfigUser = {
    config,
    server: new URL(server),
    file: folder,
    tokenFile: join(folder, 'token'),
    dynamic: false,
    warning: undefined,
  };
  return () => snapshotOf(user);
}

async function readKubeconfigs(files: readonly string[]): Promise<KubeconfigFile[]> {
  const found: KubeconfigFile[] = [];
  for (const [index, file] of files.entries()) {
    try {
      found.push({ file, text: await readFile(file, 'utf8') });
    } catch (error) {
      const isLast = index === files.length - 1;
      if (codeOf(error) === 'ENOENT' && (found.length > 0 || !isLast)) continue;
      throw new WrapperError(
        'InvalidSettings',
        `the kubeconfig ${file} cannot be read (${codeOf(error)}); check the path and its permissions`,
        { cause: error },
      );
    }
  }
  return found;
}

/** Lets KubeConfig collect certificates and headers, and checks that they are usable. */
async function snapshotOf(user: KubeconfigUser): Promise<Snapshot> {
  const { server, tokenFile, dynamic, warning } = user;
  const shared = { servers: [server], dynamic, warning };
  if (server.protocol === 'http:') return { ...shared, tls: {}, headers: {}, tokenFile: undefined };
  const options: RequestOptions = {};
  try {
    await user.config.applyToHTTPSOptions(options);
  } catch (error) {
    throw readError(error, user);
  }
  const tls = tlsOf(options);
  assertUsable(tls, user.file);
  return { ...shared, tls, headers: headersOf(options, user.file), tokenFile };
}

function tlsOf(options: RequestOptions): TlsOptions {
  const { ca, cert, key, servername } = options;
  return {
    rejectUnauthorized: options.rejectUnauthorized !== false,
    ca: isPem(ca) ? ca : undefined,
    cert: isPem(cert) ? cert : undefined,
    key: isPem(key) ? key : undefined,
    servername,
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
      throw unusable(file, `its ${name} has characters that are not allowed in a header`);
    }
    headers[name.toLowerCase()] = text;
  }
  return headers;
}

/** Throws if certificates are incomplete or do not match, because Node accepts an empty `ca` without an error. */
function assertUsable(tls: TlsOptions, file: string): void {
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    throw unusable(file, 'it has only one of client certificate and key');
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
 * Describes a missing file, or a credential plugin that failed. The output of a plugin is never shown, because it may
 * contain the token. The same holds for the message of JSON.parse, which quotes the output.
 */
function readError(error: unknown, { file, dynamic }: KubeconfigUser): WrapperError {
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
  return new WrapperError('Credentials', message, { cause });
}

function codeOf(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException;
  return code ?? name;
}
