import { readText } from '../deploy/repository.ts';
import type { Cluster } from './cluster.ts';
import { API_SERVER } from './network.ts';

export interface KubeProxyOptions {
  readonly mode: 'nftables' | 'iptables';
  /** What its kubeconfig says. Default: the API server, as kubeadm sets it up. */
  readonly server?: string;
}

/** Installs kube-proxy as kubeadm does, as a DaemonSet on every node. */
export async function installKubeProxy(cluster: Cluster, options: KubeProxyOptions): Promise<void> {
  const { mode, server = `https://${API_SERVER.address}:${API_SERVER.port}` } = options;
  const manifest = readText('test/real/deploy/fixtures/kubeadm-kube-proxy.yaml')
    .replace('https://control-plane.example.com:6443', server)
    .replace('    mode: ""', `    mode: ${mode}`)
    // Only the machine's own network namespace may set it.
    .replace('maxPerCore: null', 'maxPerCore: 0');
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], manifest);
}

/** Waits until a DaemonSet in kube-system has rolled out. */
export async function rolledOut(cluster: Cluster, name: string): Promise<void> {
  const args = ['-n', 'kube-system', 'rollout', 'status', `daemonset/${name}`, '--timeout=300s'];
  try {
    await cluster.kubectl(args);
  } catch (error) {
    const inSystem = async (...rest: string[]) =>
      await cluster.kubectl(['-n', 'kube-system', ...rest]).catch(String);
    const pods = await inSystem('get', 'pods', '-o', 'wide');
    const events = await inSystem('get', 'events', '--sort-by=.lastTimestamp');
    const notReady = pods.split('\n').filter((line) => / 0\/\d /.test(line));
    const logs: string[] = [];
    for (const line of notReady) {
      const [pod = ''] = line.split(' ');
      logs.push(`log of ${pod}:\n${(await inSystem('logs', pod, '--tail=20')).slice(-3000)}`);
    }
    const found = [String(error), pods, events.slice(-4000), ...logs].join('\n');
    throw new Error(found, { cause: error });
  }
}
