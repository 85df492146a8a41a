import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { KubeConfig, type User } from '@kubernetes/client-node';
import {
  type ClusterEntry,
  type Kubeconfig,
  type KubeconfigFile,
  type Plugin,
  parseKubeconfig,
  type UserEntry,
  unusable,
} from './kubeconfig-schema.ts';

/** The current context of a kubeconfig, prepared so that KubeConfig can collect headers and certificates. */
export interface KubeconfigUser {
  /** Has this one cluster and user only. */
  readonly config: KubeConfig;
  readonly server: URL;
  /** Absolute path of the kubeconfig, for messages. */
  readonly file: string;
  /** Absolute path of the file that holds the bearer token. */
  readonly tokenFile: string | undefined;
  /** Whether a plugin supplies credentials that expire. */
  readonly dynamic: boolean;
  /** Warning for the operator. */
  readonly warning: string | undefined;
}

/** The name of the cluster extension for plugins. */
const PLUGIN_CONFIG = 'client.authentication.k8s.io/exec';
const IMPERSONATION = ['as-groups', 'as-uid', 'as-user-extra'] as const;

/**
 * The cluster and the user of a kubeconfig, or of several as one, as client-go's clientcmd selects them: of what several
 * files define, the first counts, inline data wins over a file, but a token file over a token, paths are relative to
 * the folder of their kubeconfig, and no credentials are sent over plain http. Throws `Credentials`.
 *
 * @param context default: the first current context
 */
export function userFromKubeconfig(
  files: readonly KubeconfigFile[],
  context?: string,
): KubeconfigUser {
  const names = files.map(({ file }) => file).join(', ');
  const { cluster, user } = select(files.map(parseKubeconfig), names, context);
  const server = serverOf(cluster);
  if (user === undefined) {
    const config = configOf(cluster, { name: 'anonymous' });
    const shared = { tokenFile: undefined, dynamic: false, warning: undefined };
    return { ...shared, config, server, file: cluster.file };
  }
  assertSupported(user);
  const { file, token, exec, username, 'auth-provider': provider } = user;
  const tokenFile = pathFrom(file, user.tokenFile || provider?.config?.tokenFile);
  const certificate = pemOf(file, user['client-certificate-data'], user['client-certificate']);
  const key = pemOf(file, user['client-key-data'], user['client-key']);
  const hasTokenFile = tokenFile !== undefined;
  const config = configOf(cluster, {
    name: user.name,
    certData: certificate.data,
    certFile: certificate.file,
    keyData: key.data,
    keyFile: key.file,
    // It is read more often than KubeConfig would read it, and trimmed.
    token: hasTokenFile ? undefined : token,
    authProvider: hasTokenFile ? undefined : provider,
    username,
    password: user.password,
    impersonateUser: user.as,
    exec: exec && pluginOf(exec, file, cluster),
  });
  const credentials = [tokenFile, token, username, exec, provider, ...Object.values(certificate)];
  const isUnsent = server.protocol === 'http:' && credentials.some(Boolean);
  return {
    config,
    server,
    file,
    tokenFile,
    dynamic: Boolean(exec ?? (hasTokenFile ? undefined : provider)),
    warning: isUnsent
      ? `${file} has credentials, but none are sent to ${server.origin}: it is plain http`
      : undefined,
  };
}

/** @param names of the files, for errors */
function select(
  all: readonly Kubeconfig[],
  names: string,
  wanted: string | undefined,
): { readonly cluster: ClusterEntry; readonly user: UserEntry | undefined } {
  const contexts = all.flatMap((each) => each.contexts);
  const known = contexts.map(({ name }) => name).join(', ');
  const name = wanted ?? all.map(({ currentContext }) => currentContext).find(Boolean);
  if (!name) throw unusable(names, `it has no current-context; its contexts: ${known}`);
  const context = contexts.find((each) => each.name === name);
  if (context === undefined) {
    throw unusable(names, `the context "${name}" is not among its contexts: ${known}`);
  }
  const missing = (what: string) =>
    unusable(names, `the ${what} of its context "${name}" is missing`);
  const cluster = all.flatMap(({ clusters }) => clusters).find(isNamed(context.cluster));
  if (cluster === undefined) throw missing(`cluster "${context.cluster}"`);
  // A context without a user is anonymous.
  const user = all.flatMap(({ users }) => users).find(isNamed(context.user));
  if (user === undefined && context.user) throw missing(`user "${context.user}"`);
  return { cluster, user };
}

function isNamed(wanted: string | undefined): (entry: { readonly name: string }) => boolean {
  return ({ name }) => name === wanted;
}

function serverOf({ name, server = '', 'proxy-url': proxy, file }: ClusterEntry): URL {
  if (proxy) {
    const what = `proxy-url of the cluster "${name}" is not supported`;
    throw unusable(file, `${what}: connections are direct; see docs/settings.md`);
  }
  const url = URL.parse(server);
  if (url !== null && /^https?:$/.test(url.protocol)) return url;
  throw unusable(file, `the server of the cluster "${name}" is not an http(s) URL`);
}

function assertSupported(user: UserEntry): void {
  const { name, file, 'auth-provider': provider } = user;
  const unsupported = IMPERSONATION.find((key) => (user[key] ?? undefined) !== undefined);
  if (unsupported !== undefined) {
    throw unusable(file, `${unsupported} of the user "${name}" is not supported; remove it`);
  }
  // kubectl and client-go have none of these since 1.26.
  if (provider?.name !== 'azure' && provider?.name !== 'gcp') return;
  const what = `auth-provider ${provider.name} of the user "${name}" is not supported`;
  throw unusable(file, `${what}; use exec with the credential plugin of your provider`);
}

function configOf(cluster: ClusterEntry, user: User): KubeConfig {
  const { name, server = '', 'tls-server-name': tlsServerName } = cluster;
  const { data, file } = authorityOf(cluster);
  const skipTLSVerify = cluster['insecure-skip-tls-verify'] === true;
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name, server, caData: data, caFile: file, tlsServerName, skipTLSVerify },
    user,
  );
  return config;
}

/** Where certificates or a key are: inline data wins over a file. */
function pemOf(
  kubeconfig: string,
  data: string | undefined,
  path: string | undefined,
): { readonly data?: string | undefined; readonly file?: string | undefined } {
  return data ? { data } : { file: pathFrom(kubeconfig, path) };
}

function authorityOf({ file, ...cluster }: ClusterEntry): ReturnType<typeof pemOf> {
  const path = cluster['certificate-authority'];
  return pemOf(file, cluster['certificate-authority-data'], path);
}

/** An absolute path from one that is relative to the folder of a kubeconfig. */
function pathFrom(kubeconfig: string, path: string | undefined): string | undefined {
  return path ? resolve(dirname(kubeconfig), path) : undefined;
}

/**
 * A command with a slash is relative to the folder of the kubeconfig; others are searched in PATH. Plugins read the
 * requested version of ExecCredential in KUBERNETES_EXEC_INFO. With provideClusterInfo they also get the cluster
 * (client-go plugin/pkg/client/auth/exec).
 */
function pluginOf(exec: Plugin, file: string, cluster: ClusterEntry): Plugin {
  const { command, apiVersion, env = [] } = exec;
  const shown = exec.provideClusterInfo === true ? clusterInfo(cluster) : undefined;
  const spec = { cluster: shown, interactive: false };
  const value = JSON.stringify({ kind: 'ExecCredential', apiVersion, spec });
  return {
    ...exec,
    command: command?.includes('/') ? pathFrom(file, command) : command,
    env: [...env, { name: 'KUBERNETES_EXEC_INFO', value }],
  };
}

/** The cluster as a plugin gets it (client-go rest.ConfigToExecCluster); unset fields are left out. */
function clusterInfo(cluster: ClusterEntry): object {
  const { data, file } = authorityOf(cluster);
  return {
    server: cluster.server,
    'tls-server-name': cluster['tls-server-name'] || undefined,
    'insecure-skip-tls-verify': cluster['insecure-skip-tls-verify'] || undefined,
    'certificate-authority-data': data ?? (file && base64Of(file, cluster.file)),
    config: cluster.extensions?.find(isNamed(PLUGIN_CONFIG))?.extension,
  };
}

function base64Of(path: string, file: string): string {
  try {
    return readFileSync(path, 'base64');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw unusable(file, `the file ${path} it names cannot be read (${code})`, error);
  }
}
