import { load, YAMLException } from 'js-yaml';
import * as v from 'valibot';
import { WrapperError } from '../../errors.ts';

/** As in Go, null is the same as an absent field. */
const optional = <T extends v.GenericSchema>(schema: T) =>
  v.pipe(
    v.nullish(schema),
    v.transform((value) => value ?? undefined),
  );
const text = optional(v.string());

/** Cluster (clientcmd/api/v1), as far as it is read here. */
const cluster = v.object({
  server: text,
  'certificate-authority': text,
  'certificate-authority-data': text,
  'insecure-skip-tls-verify': optional(v.boolean()),
  'tls-server-name': text,
  'proxy-url': text,
  extensions: optional(v.array(v.object({ name: v.string(), extension: optional(v.unknown()) }))),
});

/** ExecConfig (clientcmd/api/v1); KubeConfig reads its other fields. */
const exec = v.looseObject({
  command: text,
  args: optional(v.array(v.string())),
  env: optional(v.array(v.object({ name: v.string(), value: v.nullish(v.string(), '') }))),
  apiVersion: text,
  provideClusterInfo: optional(v.boolean()),
});

/** AuthInfo (clientcmd/api/v1). */
const user = v.object({
  token: text,
  tokenFile: text,
  'client-certificate': text,
  'client-certificate-data': text,
  'client-key': text,
  'client-key-data': text,
  username: text,
  password: text,
  as: text,
  'as-groups': optional(v.unknown()),
  'as-uid': optional(v.unknown()),
  'as-user-extra': optional(v.unknown()),
  exec: optional(exec),
  'auth-provider': optional(
    v.looseObject({ name: text, config: optional(v.looseObject({ tokenFile: text })) }),
  ),
});

const context = v.object({ cluster: text, user: text });

const list = <T extends v.GenericSchema>(schema: T) => v.nullish(v.array(schema), []);

const kubeconfig = v.object({
  'current-context': text,
  contexts: list(v.object({ name: v.string(), context: optional(context) })),
  clusters: list(v.object({ name: v.string(), cluster: optional(cluster) })),
  users: list(v.object({ name: v.string(), user: optional(user) })),
});

/** An entry of a list of a kubeconfig, with its file. */
export type Entry<T> = T & { readonly name: string; readonly file: string };
export type ClusterEntry = Entry<v.InferOutput<typeof cluster>>;
export type UserEntry = Entry<v.InferOutput<typeof user>>;
export type Plugin = v.InferOutput<typeof exec>;
export type ContextEntry = Entry<v.InferOutput<typeof context>>;

/** What one or several kubeconfigs define. */
export interface Kubeconfig {
  readonly currentContext: string | undefined;
  readonly contexts: readonly ContextEntry[];
  readonly clusters: readonly ClusterEntry[];
  readonly users: readonly UserEntry[];
}

/** A kubeconfig file. */
export interface KubeconfigFile {
  /** Absolute path. */
  readonly file: string;
  readonly text: string;
}

/**
 * Reads a kubeconfig. Throws `Credentials`; its message has no value of the file, which may be a token.
 */
export function parseKubeconfig({ file, text: yaml }: KubeconfigFile): Kubeconfig {
  const { success, output, issues } = v.safeParse(kubeconfig, parseDocument(yaml, file));
  if (!success) {
    const field = v.getDotPath(issues[0]);
    throw unusable(file, `its field ${field} is missing or has a value of the wrong type`);
  }
  return {
    currentContext: output['current-context'],
    contexts: output.contexts.map(({ name, context: each }) => ({ ...each, name, file })),
    clusters: output.clusters.map(({ name, cluster: each }) => ({ ...each, name, file })),
    users: output.users.map(({ name, user: each }) => ({ ...each, name, file })),
  };
}

/** An error of code `Credentials` about a kubeconfig. */
export function unusable(file: string, problem: string, cause?: unknown): WrapperError {
  const message = `the kubeconfig ${file} cannot be used: ${problem}`;
  return new WrapperError('Credentials', message, { cause });
}

function parseDocument(yaml: string, file: string): object {
  let document: unknown;
  try {
    document = load(yaml);
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
