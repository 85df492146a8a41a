import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ApiClient, createApiClient } from '../../e2e/support/api.ts';
import { getStatus } from '../../e2e/support/http-status.ts';
import { writeKubeconfig } from '../../e2e/support/kubeconfig.ts';
import { type ManagedProcess, waitUntilReady } from '../../e2e/support/managed-process.ts';
import { makeServingCert } from '../../e2e/support/serving-cert.ts';
import type { ClusterBinaries } from './binaries.ts';
import { API_SERVER, type ClusterNetwork } from './network.ts';

/** etcd, kube-apiserver, kube-controller-manager and kube-scheduler, in the hub of the network. */
export interface ControlPlane {
  readonly admin: ApiClient;
  /** Of an administrator, for use on this machine. */
  readonly kubeconfig: string;
  /** Writes the kubeconfig of a kubelet and returns its path. */
  kubeletConfig(nodeName: string): string;
  /** Waits until the API server answers. */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
}

export interface ControlPlaneOptions {
  readonly binaries: ClusterBinaries;
  readonly network: ClusterNetwork;
  /** Folder for files and logs. */
  readonly folder: string;
  readonly nodeNames: readonly string[];
}

/** Starts the control plane and returns before it is ready, so that nodes can start beside it. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { network, folder, nodeNames } = options;
  const addresses = ['127.0.0.1', API_SERVER.address, network.hubAddress, '10.96.0.1'];
  const { certFile, keyFile } = await makeServingCert(folder, 'apiserver', addresses);
  const tokens = writeTokens(folder, nodeNames);
  const url = (address: string) => `https://${address}:${API_SERVER.port}`;
  const kubeconfigFor = (user: string, address: string) => {
    const path = join(folder, `${user}.kubeconfig`);
    writeKubeconfig(path, {
      server: url(address),
      caFile: certFile,
      token: tokens.get(user) ?? '',
    });
    return path;
  };
  const server = url(network.hubAddress);
  const ca = readFileSync(certFile);
  const admin = createApiClient({ server, ca, token: tokens.get('admin') ?? '' });
  const running = startComponents(options, { certFile, keyFile });
  const ready = waitUntilReady(
    running.apiServer,
    async () => (await getStatus(`${server}/readyz`, ca)) === 200,
  ).then(() => running.startClients(kubeconfigFor('controllers', API_SERVER.address)));
  // Whoever awaits it gets the error; until then nobody may.
  ready.catch(() => {});
  return {
    admin,
    kubeconfig: kubeconfigFor('admin', network.hubAddress),
    kubeletConfig: (name) => kubeconfigFor(name, API_SERVER.address),
    ready,
    stop: async () => {
      admin.close();
      await Promise.all(running.processes.map(async (each) => await each.stop('SIGKILL')));
    },
  };
}

function startComponents(
  { binaries, network, folder }: ControlPlaneOptions,
  cert: { readonly certFile: string; readonly keyFile: string },
) {
  const processes: ManagedProcess[] = [];
  const start = (name: string, command: string, args: readonly string[]) => {
    const logFile = join(folder, `${name}.log`);
    const started = network.spawn({ name, command, args, logFile });
    processes.push(started);
    return started;
  };
  const accountKey = writeAccountKey(folder);
  start('etcd', binaries.etcd, etcdArgs(folder));
  const apiServer = start('kube-apiserver', binaries.kubeApiserver, [
    ...apiServerArgs(folder, accountKey),
    `--tls-cert-file=${cert.certFile}`,
    `--tls-private-key-file=${cert.keyFile}`,
    `--client-ca-file=${cert.certFile}`,
  ]);
  return {
    processes,
    apiServer,
    startClients: (kubeconfig: string) => {
      const common = [`--kubeconfig=${kubeconfig}`, '--leader-elect=false'];
      start('kube-scheduler', binaries.kubeScheduler, [
        ...common,
        `--cert-dir=${join(folder, 'scheduler')}`,
      ]);
      start('kube-controller-manager', binaries.kubeControllerManager, [
        ...common,
        ...controllerArgs(accountKey, cert.certFile),
        `--cert-dir=${join(folder, 'controller-manager')}`,
      ]);
    },
  };
}

function etcdArgs(folder: string): string[] {
  const url = 'http://127.0.0.1:2379';
  const peerUrl = 'http://127.0.0.1:2380';
  return [
    '--name',
    'cluster',
    '--data-dir',
    join(folder, 'etcd'),
    '--log-level',
    'warn',
    '--listen-client-urls',
    url,
    '--advertise-client-urls',
    url,
    '--listen-peer-urls',
    peerUrl,
    '--initial-advertise-peer-urls',
    peerUrl,
    // The cluster does not survive its test.
    '--initial-cluster',
    `cluster=${peerUrl}`,
    '--unsafe-no-fsync',
  ];
}

function apiServerArgs(folder: string, accountKey: string): string[] {
  return [
    '--etcd-servers=http://127.0.0.1:2379',
    '--service-cluster-ip-range=10.96.0.0/16',
    `--secure-port=${API_SERVER.port}`,
    '--bind-address=0.0.0.0',
    `--advertise-address=${API_SERVER.address}`,
    `--cert-dir=${folder}`,
    `--token-auth-file=${join(folder, 'tokens.csv')}`,
    '--authorization-mode=Node,RBAC',
    // kube-proxy is a privileged Pod.
    '--allow-privileged=true',
    // For logs, exec and port-forward: the names of nodes do not resolve.
    '--kubelet-preferred-address-types=InternalIP',
    `--service-account-key-file=${accountKey}`,
    `--service-account-signing-key-file=${accountKey}`,
    '--service-account-issuer=https://kubernetes.default.svc',
  ];
}

function controllerArgs(accountKey: string, caFile: string): string[] {
  return [
    // Without those of a cloud. The Pod ranges of nodes are fixed; see network.ts.
    '--controllers=*,-nodeipam,-node-route-controller,-cloud-node-lifecycle-controller',
    '--allocate-node-cidrs=false',
    `--root-ca-file=${caFile}`,
    `--service-account-private-key-file=${accountKey}`,
    '--use-service-account-credentials=true',
  ];
}

/** Writes the tokens of an administrator, the controllers and each kubelet. Returns them by name. */
function writeTokens(folder: string, nodeNames: readonly string[]): ReadonlyMap<string, string> {
  const tokens = new Map<string, string>();
  const line = (name: string, user: string, group: string) => {
    tokens.set(name, randomBytes(16).toString('hex'));
    return `${tokens.get(name)},${user},${name},"${group}"`;
  };
  const lines = [
    line('admin', 'test:admin', 'system:masters'),
    // One for both, because both may do all here.
    line('controllers', 'test:controllers', 'system:masters'),
    ...nodeNames.map((name) => line(name, `system:node:${name}`, 'system:nodes')),
  ];
  writeFileSync(join(folder, 'tokens.csv'), `${lines.join('\n')}\n`, { mode: 0o600 });
  return tokens;
}

function writeAccountKey(folder: string): string {
  const path = join(folder, 'service-account.key');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(path, privateKey.export({ type: 'pkcs1', format: 'pem' }));
  return path;
}
