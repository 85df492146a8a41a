import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Cluster, KubeConfig, type User } from '@kubernetes/client-node';
import { load, YAMLException } from 'js-yaml';
import { WrapperError } from '../../errors.ts';

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

/** The fields of `users[].user.exec` that are read here. */
interface Plugin {
  readonly command?: string;
  readonly apiVersion?: string;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly provideClusterInfo?: boolean;
}

/** The name of the cluster extension for plugins. */
const PLUGIN_CONFIG = 'client.authentication.k8s.io/exec';

/** A kubeconfig file. */
export interface KubeconfigFile {
  /** Absolute path. */
  readonly file: string;
  readonly text: string;
}

/**
 * Reads a kubeconfig, or several as one. Where KubeConfig and client-go's clientcmd differ, this follows clientcmd: of
 * what several files define, the first counts, the key `tokenFile` names a token file, inline data wins over a file,
 * paths are relative to the folder of their kubeconfig, and no credentials are sent over plain http. Throws
 * `Credentials`.
 *
 * @param context default: the first current context
 */
export function userFromKubeconfig(
  files: readonly KubeconfigFile[],
  context?: string,
): KubeconfigUser {
  const names = files.map(({ file }) => file).join(', ');
  try {
    return readUser(files.map(parseFile), names, context);
  } catch (error) {
    if (error instanceof WrapperError) throw error;
    // KubeConfig does not check the types of the fields. Its error may quote a token, so it is dropped.
    throw unusable(names, 'one of its fields has a value of the wrong type');
  }
}

/** A file with what it defines. */
interface ParsedFile {
  readonly file: string;
  readonly document: Record<string, unknown>;
  /** Its paths are absolute. */
  readonly config: KubeConfig;
}

function parseFile({ file, text }: KubeconfigFile): ParsedFile {
  const document = parseDocument(text, file);
  const config = new KubeConfig();
  try {
    config.loadFromString(text);
  } catch (error) {
    throw unusable(file, (error as Error).message, error);
  }
  config.makePathsAbsolute(dirname(file));
  return { file, document, config };
}

function readUser(
  all: readonly ParsedFile[],
  names: string,
  context: string | undefined,
): KubeconfigUser {
  const { cluster, clusterFile, user, userFile } = selected(all, names, context);
  const { file } = userFile;
  const server = serverOf(cluster, clusterFile.file);
  const details = detailsOf(userFile.document, 'user', user);
  for (const key of ['as-groups', 'as-uid', 'as-user-extra']) {
    if (details[key] !== undefined) {
      throw unusable(file, `${key} of the user "${user?.name}" is not supported; remove it`);
    }
  }
  assertProvider(user, file);
  const folder = dirname(file);
  const tokenFile = tokenFileOf(details, user, folder);
  const config = new KubeConfig();
  const describeCluster = () =>
    clusterInfo(cluster, detailsOf(clusterFile.document, 'cluster', cluster), clusterFile.file);
  config.loadFromClusterAndUser(
    dataFirst(cluster),
    plainUser(user, tokenFile, folder, describeCluster),
  );
  const unsent = server.protocol === 'http:' && hasCredentials(user, tokenFile);
  return {
    config,
    server,
    file,
    tokenFile,
    dynamic: Boolean(user?.exec || (user?.authProvider && tokenFile === undefined)),
    warning: unsent
      ? `${file} has credentials, but none are sent to ${server.origin}: it is plain http`
      : undefined,
  };
}

/** kubectl and client-go have none of these since 1.26. */
function assertProvider(user: User | undefined, file: string): void {
  const name = user?.authProvider?.name;
  if (name !== 'azure' && name !== 'gcp') return;
  const what = `auth-provider ${name} of the user "${user?.name}" is not supported`;
  throw unusable(file, `${what}; use exec with the credential plugin of your provider`);
}

function parseDocument(text: string, file: string): Record<string, unknown> {
  let document: unknown;
  try {
    document = load(text);
  } catch (error) {
    // Message and cause are dropped, because they quote the faulty line, which may contain a token.
    const reason = error instanceof YAMLException ? error.reason : 'not readable';
    const line = error instanceof YAMLException ? error.mark?.line : undefined;
    throw unusable(
      file,
      `it is not YAML: ${reason}${line === undefined ? '' : `, line ${line + 1}`}`,
    );
  }
  if (!isRecord(document)) throw unusable(file, 'it is not a YAML object');
  return document;
}

function selected(all: readonly ParsedFile[], names: string, wanted: string | undefined) {
  const known = all.flatMap(({ config }) => config.getContexts().map((each) => each.name));
  const name = wanted ?? all.map(({ config }) => config.getCurrentContext()).find(Boolean);
  if (!name) throw unusable(names, `it has no current-context; its contexts: ${known.join(', ')}`);
  const [context] = all.flatMap(({ config }) => config.getContextObject(name) ?? []);
  if (context === undefined) {
    throw unusable(names, `the context "${name}" is not among its contexts: ${known.join(', ')}`);
  }
  const [found] = all.flatMap((clusterFile) => {
    const cluster = clusterFile.config.getCluster(context.cluster);
    return cluster === null ? [] : { cluster, clusterFile };
  });
  if (found === undefined) {
    throw unusable(names, `the cluster "${context.cluster}" of its context "${name}" is missing`);
  }
  // A context without a user is anonymous.
  if (context.user === undefined) return { ...found, user: undefined, userFile: found.clusterFile };
  const [identity] = all.flatMap((userFile) => {
    const user = userFile.config.getUser(context.user);
    return user === null ? [] : { user, userFile };
  });
  if (identity !== undefined) return { ...found, ...identity };
  throw unusable(names, `the user "${context.user}" of its context "${name}" is missing`);
}

function serverOf(cluster: Cluster, file: string): URL {
  if (cluster.proxyUrl) {
    throw unusable(file, `proxy-url of the cluster "${cluster.name}" is not supported; remove it`);
  }
  const url = URL.parse(cluster.server);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw unusable(file, `the server of the cluster "${cluster.name}" is not an http(s) URL`);
  }
  return url;
}

/** A user or cluster as in the file, with the keys that KubeConfig ignores. */
function detailsOf(
  document: Record<string, unknown>,
  kind: 'user' | 'cluster',
  selected: User | Cluster | undefined,
): Record<string, unknown> {
  const list = document[`${kind}s`];
  const entries: unknown[] = Array.isArray(list) ? list : [];
  const entry = entries.find((each) => isRecord(each) && each.name === selected?.name);
  const details = isRecord(entry) ? entry[kind] : undefined;
  return isRecord(details) ? details : {};
}

/** KubeConfig ignores the key `tokenFile`, which kubeadm's kubeconfig of kube-proxy uses. */
function tokenFileOf(
  details: Record<string, unknown>,
  user: User | undefined,
  folder: string,
): string | undefined {
  const path = details.tokenFile ?? user?.authProvider?.config?.tokenFile;
  return typeof path === 'string' && path !== '' ? resolve(folder, path) : undefined;
}

function dataFirst(cluster: Cluster): Cluster {
  return { ...cluster, caFile: cluster.caData ? undefined : cluster.caFile };
}

/** The user without its token file, because that is read more often than KubeConfig would, and trimmed. */
function plainUser(
  user: User | undefined,
  tokenFile: string | undefined,
  folder: string,
  describeCluster: () => object,
): User {
  if (user === undefined) return { name: 'anonymous' };
  const { certData, certFile, keyData, keyFile, token, authProvider, exec } = user;
  // clientcmd prefers the file where both are given.
  const hasTokenFile = tokenFile !== undefined;
  return {
    ...user,
    certFile: certData ? undefined : certFile,
    keyFile: keyData ? undefined : keyFile,
    token: hasTokenFile ? undefined : token,
    authProvider: hasTokenFile ? undefined : authProvider,
    exec: exec && pluginOf(exec, folder, describeCluster),
  };
}

/**
 * A command with a slash is relative to the folder of the kubeconfig; others are searched in PATH. Plugins read the
 * requested version of ExecCredential in KUBERNETES_EXEC_INFO. With provideClusterInfo they also get the cluster
 * (client-go plugin/pkg/client/auth/exec).
 */
function pluginOf(exec: Plugin, folder: string, describeCluster: () => object): Plugin {
  const { command, apiVersion, env } = exec;
  const cluster = exec.provideClusterInfo === true ? describeCluster() : undefined;
  const spec = { cluster, interactive: false };
  const info = { kind: 'ExecCredential', apiVersion, spec };
  return {
    ...exec,
    command: command?.includes('/') ? resolve(folder, command) : command,
    env: [...(env ?? []), { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }],
  };
}

/** The cluster as a plugin gets it (client-go rest.ConfigToExecCluster); unset fields are left out. */
function clusterInfo(
  { server, tlsServerName, skipTLSVerify, caData, caFile }: Cluster,
  { extensions }: Record<string, unknown>,
  file: string,
): object {
  const entries: unknown[] = Array.isArray(extensions) ? extensions : [];
  const config = entries.find((each) => isRecord(each) && each.name === PLUGIN_CONFIG);
  return {
    server,
    'tls-server-name': tlsServerName || undefined,
    'insecure-skip-tls-verify': skipTLSVerify || undefined,
    'certificate-authority-data': caData || (caFile ? base64Of(caFile, file) : undefined),
    config: isRecord(config) ? config.extension : undefined,
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

function hasCredentials(user: User | undefined, tokenFile: string | undefined): boolean {
  if (user === undefined) return false;
  const { token, username, exec, authProvider, certFile, certData } = user;
  return [tokenFile, token, username, exec, authProvider, certFile, certData].some(Boolean);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unusable(file: string, problem: string, cause?: unknown): WrapperError {
  const message = `the kubeconfig ${file} cannot be used: ${problem}`;
  return new WrapperError('Credentials', message, { cause });
}
