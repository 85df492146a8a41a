import { dirname, resolve } from 'node:path';
import { loadAll, YAMLException } from 'js-yaml';
import * as v from 'valibot';
import { WrapperError } from '../../errors.ts';
import { KUBECTL_SCHEMA } from '../../text/read-yaml.ts';

/** As in Go, null is the same as an absent field. */
const optional = <T extends v.GenericSchema>(schema: T) =>
  v.pipe(
    v.nullish(schema),
    v.transform((value) => value ?? undefined),
  );
const optionalText = optional(v.string());
const list = <T extends v.GenericSchema>(schema: T) => v.nullish(v.array(schema), []);

/**
 * What is read of a kubeconfig (clientcmd/api/v1).
 *
 * @param absolute makes a path absolute that is relative to the folder of the kubeconfig
 */
const createSchema = (absolute: (path: string) => string) => {
  const path = v.pipe(
    optionalText,
    v.transform((value) => value && absolute(value)),
  );
  const cluster = v.object({
    server: optionalText,
    'certificate-authority': path,
    'certificate-authority-data': optionalText,
    'insecure-skip-tls-verify': optional(v.boolean()),
    'tls-server-name': optionalText,
    'proxy-url': optionalText,
    extensions: optional(v.array(v.object({ name: v.string(), extension: optional(v.unknown()) }))),
  });
  // KubeConfig reads the other fields of a plugin and of a provider.
  const exec = v.looseObject({
    // Without a slash it is searched in PATH.
    command: v.pipe(
      optionalText,
      v.transform((command) => (command?.includes('/') ? absolute(command) : command)),
    ),
    args: optional(v.array(v.string())),
    env: optional(v.array(v.object({ name: v.string(), value: v.nullish(v.string(), '') }))),
    apiVersion: optionalText,
    provideClusterInfo: optional(v.boolean()),
    interactiveMode: optionalText,
  });
  const provider = v.looseObject({
    name: optionalText,
    config: optional(v.looseObject({ tokenFile: path })),
  });
  const user = v.object({
    token: optionalText,
    tokenFile: path,
    'client-certificate': path,
    'client-certificate-data': optionalText,
    'client-key': path,
    'client-key-data': optionalText,
    username: optionalText,
    password: optionalText,
    as: optionalText,
    'as-groups': optional(v.unknown()),
    'as-uid': optional(v.unknown()),
    'as-user-extra': optional(v.unknown()),
    exec: optional(exec),
    'auth-provider': optional(provider),
  });
  const context = v.object({ cluster: optionalText, user: optionalText });
  return v.object({
    'current-context': optionalText,
    contexts: list(v.object({ name: v.string(), context: optional(context) })),
    clusters: list(v.object({ name: v.string(), cluster: optional(cluster) })),
    users: list(v.object({ name: v.string(), user: optional(user) })),
  });
};

type Fields = v.InferOutput<ReturnType<typeof createSchema>>;
/** An entry of a list of a kubeconfig, with its file. */
type NamedEntry<T> = NonNullable<T> & { readonly name: string; readonly file: string };
export type ClusterEntry = NamedEntry<Fields['clusters'][number]['cluster']>;
export type UserEntry = NamedEntry<Fields['users'][number]['user']>;

/** A kubeconfig file. */
export interface KubeconfigFile {
  /** Absolute path. */
  readonly file: string;
  readonly text: string;
}

/**
 * Cluster and user of a context, as client-go's clientcmd selects them: of what several kubeconfigs define, the first
 * counts. Throws `Credentials`; its message has no value of a file, which may be a token.
 *
 * @param wanted name of the context; default: the first current context
 */
export function selectContext(
  files: readonly KubeconfigFile[],
  wanted?: string,
): { readonly cluster: ClusterEntry; readonly user: UserEntry } {
  const all = files.map(parseKubeconfig);
  const names = files.map(({ file }) => file).join(', ');
  const contexts = all.flatMap((kubeconfig) => kubeconfig.contexts);
  const known = contexts.map((context) => context.name).join(', ');
  const name = wanted ?? all.map(({ currentContext }) => currentContext).find(Boolean);
  if (!name) throw unusable(names, `it has no current-context; its contexts: ${known}`);
  const context = contexts.find(isNamed(name));
  if (context === undefined) {
    throw unusable(names, `the context "${name}" is not among its contexts: ${known}`);
  }
  const missing = (what: string) =>
    unusable(names, `the ${what} of its context "${name}" is missing`);
  const cluster = all.flatMap(({ clusters }) => clusters).find(isNamed(context.cluster));
  if (cluster === undefined) throw missing(`cluster "${context.cluster}"`);
  const user = all.flatMap(({ users }) => users).find(isNamed(context.user));
  if (user === undefined && context.user) throw missing(`user "${context.user}"`);
  return { cluster, user: user ?? { name: 'anonymous', file: cluster.file } };
}

export function isNamed(wanted: string | undefined): (entry: { readonly name: string }) => boolean {
  return ({ name }) => name === wanted;
}

function parseKubeconfig({ file, text: yaml }: KubeconfigFile) {
  const schema = createSchema((path) => resolve(dirname(file), path));
  const { success, output, issues } = v.safeParse(schema, parseDocument(yaml, file));
  if (!success) {
    const field = v.getDotPath(issues[0]);
    throw unusable(file, `its field ${field} is missing or has a value of the wrong type`);
  }
  return {
    currentContext: output['current-context'],
    contexts: output.contexts.map(({ name, context }) => ({ ...context, name })),
    clusters: output.clusters.map(
      ({ name, cluster }): ClusterEntry => ({ ...cluster, name, file }),
    ),
    users: output.users.map(({ name, user }): UserEntry => ({ ...user, name, file })),
  };
}

/** As in client-go, a file without a document defines nothing, and only the first document counts. */
function parseDocument(yaml: string, file: string): object {
  let document: unknown;
  try {
    document = loadAll(yaml, { schema: KUBECTL_SCHEMA })[0] ?? {};
  } catch (error) {
    // Message and cause are dropped, because they quote the faulty line, which may contain a token.
    const { reason, mark } = error instanceof YAMLException ? error : {};
    const line = mark === undefined ? '' : `, line ${mark.line + 1}`;
    throw unusable(file, `it is not YAML: ${reason ?? 'not readable'}${line}`);
  }
  if (typeof document === 'object' && document !== null && !Array.isArray(document))
    return document;
  throw unusable(file, 'it is not a YAML object');
}

/** An error of code `Credentials` about a kubeconfig, or about the folder of a service account. */
export function unusable(file: string, problem: string, cause?: unknown): WrapperError {
  const message = `the credentials of ${file} cannot be used: ${problem}`;
  return new WrapperError('Credentials', message, { cause });
}
