import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { isatty } from 'node:tty';
import type { KubeConfig } from '@kubernetes/client-node';
import { type ClusterEntry, isNamed, type UserEntry, unusable } from './kubeconfig.ts';

type Spawn = (
  command: string,
  args: readonly string[] | undefined,
  options: SpawnOptions,
) => ChildProcess;

/** ExecAuth of @kubernetes/client-node 2.0.1, which is not exported; its types hide the field. */
interface ExecAuth {
  execFn: Spawn;
}

/** How credential plugins run. */
export interface PluginOptions {
  /** Time limit in milliseconds, after which a plugin is killed, with all that it has started; default 60,000. */
  readonly pluginMs?: number;
  /**
   * Whether a person waits, as for a command. As with kubectl, a plugin then has no time limit, prints errors and
   * prompts to standard error, and may read from the terminal. Default: false.
   */
  readonly attended?: boolean;
}

const PLUGIN_MS = 60_000;
/** Bytes of output of one plugin; a credential with certificates has some kilobytes. */
const MAX_OUTPUT_BYTES = 1024 * 1024;

/** The name of the cluster extension for plugins. */
const PLUGIN_CONFIG = 'client.authentication.k8s.io/exec';

/**
 * Tells credential plugins of the cluster, and limits their time and output, because KubeConfig would wait forever, and
 * all requests with it, or collect all that the plugin prints. Throws `Credentials` for a plugin that must read from a
 * terminal, if there is none.
 */
export function limitPlugin(
  config: KubeConfig,
  cluster: ClusterEntry,
  user: UserEntry,
  { pluginMs = PLUGIN_MS, attended = false }: PluginOptions,
): void {
  const { authenticators } = config as unknown as { authenticators: readonly object[] };
  const execAuth = authenticators.find((each): each is ExecAuth => 'execFn' in each);
  if (execAuth === undefined)
    throw new Error('this version of KubeConfig runs credential plugins in another way');
  const interactive = attended && isInteractive(user);
  execAuth.execFn = (command, args = [], { env = process.env }) => {
    const child = spawn(command, args, {
      env: { ...env, KUBERNETES_EXEC_INFO: execInfo(cluster, user.exec, interactive) },
      // A process group can be killed as one. Another than that of the command could not read from its terminal.
      detached: !attended,
      stdio: [interactive ? 'inherit' : 'ignore', 'pipe', attended ? 'inherit' : 'pipe'],
    });
    // ExecAuth listens to it.
    if (attended) Object.assign(child, { stderr: Readable.from([]) });
    const end = (message: string, code: string) => {
      // ExecAuth throws this error once the plugin has ended.
      child.emit('error', Object.assign(new Error(message), { code }));
      kill(child);
    };
    if (!attended) {
      const expire = () => end(`not finished within ${pluginMs} ms`, 'ETIMEDOUT');
      const timer = setTimeout(expire, pluginMs);
      child.once('close', () => clearTimeout(timer));
    }
    let bytes = 0;
    const count = (chunk: string) => {
      bytes += Buffer.byteLength(chunk);
      if (bytes > MAX_OUTPUT_BYTES) end(`printed more than ${MAX_OUTPUT_BYTES} bytes`, 'EMSGSIZE');
    };
    child.stdout?.on('data', count);
    child.stderr?.on('data', count);
    return child;
  };
}

/**
 * Whether a plugin reads from the terminal, as in client-go. Standard input that is none is the command's own, such as
 * manifests.
 */
function isInteractive({ exec, file }: UserEntry): boolean {
  const mode = exec?.interactiveMode;
  if (mode === 'Never') return false;
  const isTerminal = isatty(0);
  if (isTerminal || mode !== 'Always') return isTerminal;
  const what = 'its credential plugin needs a terminal (interactiveMode: Always)';
  throw unusable(file, `${what}, and standard input is none`);
}

function kill(child: ChildProcess): void {
  // A process that has left the group could keep them open, and write on.
  child.stdout?.destroy();
  child.stderr?.destroy();
  const { pid } = child;
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has just ended, or is in the group of the command.
    child.kill('SIGKILL');
  }
}

/**
 * Plugins read the requested version of ExecCredential in KUBERNETES_EXEC_INFO. With provideClusterInfo they also get
 * the cluster (client-go plugin/pkg/client/auth/exec).
 */
function execInfo(cluster: ClusterEntry, exec: UserEntry['exec'], interactive: boolean): string {
  const shown = exec?.provideClusterInfo === true ? clusterInfo(cluster) : undefined;
  const spec = { cluster: shown, interactive };
  return JSON.stringify({ kind: 'ExecCredential', apiVersion: exec?.apiVersion, spec });
}

/** The cluster as a plugin gets it (client-go rest.ConfigToExecCluster); unset fields are left out. */
function clusterInfo(cluster: ClusterEntry): object {
  const file = cluster['certificate-authority'];
  return {
    server: cluster.server,
    'tls-server-name': cluster['tls-server-name'] || undefined,
    'insecure-skip-tls-verify': cluster['insecure-skip-tls-verify'] || undefined,
    'certificate-authority-data':
      cluster['certificate-authority-data'] || (file && readFileSync(file, 'base64')),
    config: cluster.extensions?.find(isNamed(PLUGIN_CONFIG))?.extension,
  };
}
