import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { KubeConfig } from '@kubernetes/client-node';
import { type ClusterEntry, isNamed, type UserEntry } from './kubeconfig.ts';

type Spawn = (
  command: string,
  args: readonly string[] | undefined,
  options: SpawnOptions,
) => ChildProcess;

/** ExecAuth of @kubernetes/client-node 2.0.1, which is not exported; its types hide the field. */
interface ExecAuth {
  execFn: Spawn;
}

/** Bytes of output of one plugin; a credential with certificates has some kilobytes. */
const MAX_OUTPUT_BYTES = 1024 * 1024;

/** The name of the cluster extension for plugins. */
const PLUGIN_CONFIG = 'client.authentication.k8s.io/exec';

/**
 * Tells credential plugins of the cluster, and limits their time and output, because KubeConfig would wait forever, and
 * all requests with it, or collect all that the plugin prints. A plugin that exceeds a limit is killed together with
 * all processes that it has started.
 *
 * @param ms time limit in milliseconds
 */
export function limitPlugin(
  config: KubeConfig,
  cluster: ClusterEntry,
  exec: UserEntry['exec'],
  ms: number,
): void {
  const { authenticators } = config as unknown as { authenticators: readonly object[] };
  const execAuth = authenticators.find((each): each is ExecAuth => 'execFn' in each);
  if (execAuth === undefined)
    throw new Error('this version of KubeConfig runs credential plugins in another way');
  execAuth.execFn = (command, args = [], { env = process.env }) => {
    const inGroup: SpawnOptions = {
      env: { ...env, KUBERNETES_EXEC_INFO: execInfo(cluster, exec) },
      // A process group can be killed as one.
      detached: true,
      // There is no input, because nobody could type it.
      stdio: ['ignore', 'pipe', 'pipe'],
    };
    const child = spawn(command, args, inGroup);
    const end = (message: string, code: string) => {
      // ExecAuth throws this error once the plugin has ended.
      child.emit('error', Object.assign(new Error(message), { code }));
      kill(child);
    };
    const timer = setTimeout(() => end(`not finished within ${ms} ms`, 'ETIMEDOUT'), ms);
    child.once('close', () => clearTimeout(timer));
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

function kill(child: ChildProcess): void {
  // A process that has left the group could keep them open, and write on.
  child.stdout?.destroy();
  child.stderr?.destroy();
  const { pid } = child;
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The plugin has just ended.
  }
}

/**
 * Plugins read the requested version of ExecCredential in KUBERNETES_EXEC_INFO. With provideClusterInfo they also get
 * the cluster (client-go plugin/pkg/client/auth/exec).
 */
function execInfo(cluster: ClusterEntry, exec: UserEntry['exec']): string {
  const shown = exec?.provideClusterInfo === true ? clusterInfo(cluster) : undefined;
  const spec = { cluster: shown, interactive: false };
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
