import type { RequestOptions } from 'node:https';
import { isAbsolute } from 'node:path';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { KubeConfig } from '@kubernetes/client-node';
import { messageOf } from '../../util/message-of.ts';
import { assertCertificates } from '../system/pem.ts';
import { limitPlugin, type PluginOptions } from './exec-plugin.ts';
import { type ClusterEntry, type UserEntry, unusable } from './kubeconfig.ts';

/**
 * TLS options of a connection to the API server. Certificates and key are PEM. Without `ca`, the authorities of Node
 * count. `rejectUnauthorized` is false only with `insecure-skip-tls-verify`. As for client-go, each certificate of `ca`
 * is trusted by itself: the authority of a cluster may be an intermediate one whose root is not there.
 */
export type TlsOptions = Readonly<
  Pick<
    ConnectionOptions,
    | 'ca'
    | 'cert'
    | 'key'
    | 'rejectUnauthorized'
    | 'servername'
    | 'ALPNProtocols'
    | 'allowPartialTrustChain'
  >
>;

/** The content of the files at one reading. */
export interface CredentialsReading {
  readonly server: URL;
  readonly tls: TlsOptions;
  /** Request headers, names in lower case; without the token of `tokenFile`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Absolute path of the file that holds the bearer token. */
  readonly tokenFile?: string | undefined;
  /** Whether headers and certificate expire, so that they must be read again. */
  readonly dynamic: boolean;
  /** Warning for the operator. */
  readonly warning?: string | undefined;
}

/**
 * Returns a function that reads certificates and headers as client-go does: inline data wins over a file, but a token
 * file over a token, and no credentials are sent over plain http. Both throw `Credentials`.
 */
export function createReader(
  cluster: ClusterEntry,
  user: UserEntry,
  plugins: PluginOptions,
): () => Promise<CredentialsReading> {
  const server = serverOf(cluster);
  assertSupported(user);
  const { file, exec, 'auth-provider': provider } = user;
  const tokenFile = user.tokenFile || undefined;
  if (server.protocol === 'http:') {
    const warning = warningOf(server, user);
    return async () => ({ server, tls: {}, headers: {}, dynamic: false, warning });
  }
  const dynamic = Boolean(exec ?? provider);
  const config = configOf(cluster, user);
  limitPlugin(config, cluster, user, plugins);
  return async () => {
    const options: RequestOptions = {};
    try {
      await config.applyToHTTPSOptions(options);
    } catch (error) {
      throw unusable(file, credentialsProblem(error, dynamic), dynamic ? undefined : error);
    }
    const { ca, cert, key, servername } = options;
    const rejectUnauthorized = options.rejectUnauthorized !== false;
    const tls = {
      ca,
      cert,
      key,
      servername,
      rejectUnauthorized,
      allowPartialTrustChain: true,
    };
    assertUsable(tls, file);
    return { server, tls, headers: headersOf(options, file), tokenFile, dynamic };
  };
}

function serverOf(cluster: ClusterEntry): URL {
  const { name, server = '', 'proxy-url': proxy, file } = cluster;
  if (proxy) {
    const what = `proxy-url of the cluster "${name}" is not supported`;
    throw unusable(file, `${what}: connections are direct; see docs/settings.md`);
  }
  const url = URL.parse(server);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw unusable(file, `the server of the cluster "${name}" is not an http(s) URL`);
  }
  if (url.protocol === 'https:') assertOneTrust(cluster);
  url.pathname = url.pathname.replaceAll(/\/{2,}/g, '/');
  return url;
}

/** As client-go. Which of the two was meant is not known, and one of them checks nothing. */
function assertOneTrust(cluster: ClusterEntry): void {
  const authority = cluster['certificate-authority-data'] || cluster['certificate-authority'];
  if (!authority || cluster['insecure-skip-tls-verify'] !== true) return;
  const what = `the cluster "${cluster.name}" has a certificate authority and insecure-skip-tls-verify`;
  throw unusable(cluster.file, `${what}; remove one of them`);
}

function assertSupported(user: UserEntry): void {
  const { name, file, 'auth-provider': provider } = user;
  const impersonation = ['as-groups', 'as-uid', 'as-user-extra'] as const;
  const unsupported = impersonation.find((key) => user[key] !== undefined);
  if (unsupported !== undefined) {
    throw unusable(file, `${unsupported} of the user "${name}" is not supported; remove it`);
  }
  // kubectl and client-go have none of these since 1.26.
  if (provider?.name !== 'azure' && provider?.name !== 'gcp') return;
  const what = `auth-provider ${provider.name} of the user "${name}" is not supported`;
  throw unusable(file, `${what}; use exec with the credential plugin of your provider`);
}

function warningOf(
  server: URL,
  { name: _name, file, ...credentials }: UserEntry,
): string | undefined {
  if (!Object.values(credentials).some(Boolean)) return undefined;
  return `${file} has credentials, but none are sent to ${server.origin}: it is plain http`;
}

/** Of a certificate or a key, KubeConfig prefers the file. */
function configOf(cluster: ClusterEntry, user: UserEntry): KubeConfig {
  const { 'certificate-authority-data': caData, server = '' } = cluster;
  const { 'client-certificate-data': certData, 'client-key-data': keyData } = user;
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    {
      name: cluster.name,
      server,
      caData,
      caFile: caData ? undefined : cluster['certificate-authority'],
      tlsServerName: cluster['tls-server-name'],
      skipTLSVerify: cluster['insecure-skip-tls-verify'] === true,
    },
    {
      name: user.name,
      certData,
      certFile: certData ? undefined : user['client-certificate'],
      keyData,
      keyFile: keyData ? undefined : user['client-key'],
      token: user.token,
      authProvider: user['auth-provider'],
      username: user.username,
      password: user.password,
      impersonateUser: user.as,
      exec: user.exec,
    },
  );
  return config;
}

/**
 * Describes a missing file, or a credential plugin that failed. The output of a plugin is never shown, because it may
 * contain the token. The same holds for the message of JSON.parse, which quotes the output.
 */
function credentialsProblem(error: unknown, dynamic: boolean): string {
  const { path, code, name } = error as NodeJS.ErrnoException;
  if (path !== undefined && isAbsolute(path)) {
    return `the file ${path} it names cannot be read (${code})`;
  }
  if (!dynamic) return messageOf(error);
  return `its credential plugin failed (${code ?? name}); run it by hand to see why`;
}

function headersOf({ auth, headers = {} }: RequestOptions, file: string): Record<string, string> {
  const sent: Record<string, string> = {};
  if (auth) sent.authorization = `Basic ${Buffer.from(auth).toString('base64')}`;
  for (const [name, value] of Object.entries(headers)) {
    const text = String(value).trim();
    if (/[^\x20-\x7e]/.test(text)) {
      throw unusable(file, `its ${name} has characters that are not allowed in a header`);
    }
    sent[name.toLowerCase()] = text;
  }
  return sent;
}

/** Throws if certificates are incomplete or do not match, because Node accepts an empty `ca` without an error. */
function assertUsable(tls: TlsOptions, file: string): void {
  const { ca, cert, key } = tls;
  if ((cert === undefined) !== (key === undefined)) {
    throw unusable(file, 'it has only one of client certificate and key');
  }
  try {
    for (const pem of [ca, cert]) if (pem !== undefined) assertCertificates(String(pem));
    createSecureContext(tls);
  } catch (error) {
    throw unusable(file, `its certificates cannot be used: ${messageOf(error)}`, error);
  }
}
