import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApiClient } from '../api-server/api.ts';
import { apiServerArgs, serviceAccountKey } from '../api-server/api-server-args.ts';
import {
  type AuditRules,
  auditPolicy,
  type RequestFilter,
  readAuditLog,
} from '../api-server/audit-log.ts';
import { etcdArgs } from '../api-server/etcd.ts';
import { getStatus } from '../api-server/http-status.ts';
import { writeKubeconfig } from '../api-server/kubeconfig.ts';
import { makeServingCert, type ServingCert } from '../api-server/serving-cert.ts';
import { type TokenUser, writeTokenFile } from '../api-server/token-file.ts';
import { type ManagedProcess, waitUntilReady } from '../process/managed-process.ts';
import type { ClusterBinaries } from './binaries.ts';
import { API_SERVER, type ClusterNetwork } from './network.ts';

/** etcd, kube-apiserver, kube-controller-manager and kube-scheduler, in the hub of the network. */
export type ControlPlane = Awaited<ReturnType<typeof startControlPlane>>;

export interface ControlPlaneOptions {
  readonly binaries: ClusterBinaries;
  readonly network: ClusterNetwork;
  /** Folder for files and logs. */
  readonly folder: string;
  readonly nodeNames: readonly string[];
}

/** In the hub, so it is at the same port in each cluster. */
const ETCD = 'http://127.0.0.1:2379';

const AUDITED: AuditRules = [
  { level: 'Metadata', users: ['system:serviceaccount:kube-system:kube-proxy-wrapper'] },
  { level: 'None' },
];

/** Starts the control plane and returns before it is ready, so that nodes can start beside it. */
export async function startControlPlane(options: ControlPlaneOptions) {
  const { network, folder, nodeNames } = options;
  const addresses = ['127.0.0.1', API_SERVER.address, network.hubAddress, '10.96.0.1'];
  const cert = await makeServingCert(folder, 'apiserver', addresses);
  const tokenFile = join(folder, 'tokens.csv');
  const tokens = writeTokenFile(tokenFile, usersOf(nodeNames));
  const url = (address: string) => `https://${address}:${API_SERVER.port}`;
  const kubeconfigFor = (user: string, address: string) => {
    const path = join(folder, `${user}.kubeconfig`);
    writeKubeconfig(path, {
      server: url(address),
      caFile: cert.certFile,
      token: tokens[user] ?? '',
    });
    return path;
  };
  const server = url(network.hubAddress);
  const ca = readFileSync(cert.certFile);
  const admin = createApiClient({ server, ca, token: tokens.admin ?? '' });
  const running = startComponents(options, cert, tokenFile);
  const ready = waitUntilReady(
    running.apiServer,
    async () => (await getStatus(`${server}/readyz`, ca)) === 200,
  ).then(() => running.startClients(kubeconfigFor('controllers', API_SERVER.address)));
  // Whoever awaits it gets the error; until then nobody may.
  ready.catch(() => {});
  return {
    admin,
    /** Of an administrator, for use on this machine. */
    kubeconfig: kubeconfigFor('admin', network.hubAddress),
    /** Writes the kubeconfig of a kubelet and returns its path. */
    kubeletConfig: (name: string) => kubeconfigFor(name, API_SERVER.address),
    /** Waits until the API server answers. */
    ready,
    /** What wrappers and relays have asked, in order. */
    requests: (filter?: RequestFilter) => readAuditLog(auditFiles(folder).log, filter),
    stop: async () => {
      admin.close();
      await Promise.all(running.processes.map(async (each) => await each.stop('SIGKILL')));
    },
  };
}

function startComponents(
  { binaries, network, folder }: ControlPlaneOptions,
  cert: ServingCert,
  tokenFile: string,
) {
  const processes: ManagedProcess[] = [];
  const start = (name: string, command: string, args: readonly string[]) => {
    const logFile = join(folder, `${name}.log`);
    const started = network.spawn({ name, command, args, logFile });
    processes.push(started);
    return started;
  };
  const audit = auditFiles(folder);
  writeFileSync(audit.policy, JSON.stringify(auditPolicy(AUDITED)));
  start('etcd', binaries.etcd, etcdArgs(folder, ETCD, 'http://127.0.0.1:2380'));
  const apiServer = start('kube-apiserver', binaries.kubeApiserver, [
    ...apiServerArgs({
      folder,
      etcdUrl: ETCD,
      cert,
      port: API_SERVER.port,
      advertiseAddress: API_SERVER.address,
      tokenFile,
    }),
    `--audit-policy-file=${audit.policy}`,
    `--audit-log-path=${audit.log}`,
    '--authorization-mode=Node,RBAC',
    `--client-ca-file=${cert.certFile}`,
    // kube-proxy is a privileged Pod.
    '--allow-privileged=true',
    // For logs, exec and port-forward: the names of nodes do not resolve.
    '--kubelet-preferred-address-types=InternalIP',
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
        ...controllerArgs(serviceAccountKey(folder), cert),
        `--cert-dir=${join(folder, 'controller-manager')}`,
      ]);
    },
  };
}

function controllerArgs(accountKey: string, { certFile, keyFile }: ServingCert): string[] {
  return [
    // The Pod ranges of nodes are fixed; see network.ts.
    '--controllers=*,-nodeipam',
    '--allocate-node-cidrs=false',
    `--root-ca-file=${certFile}`,
    // Signs requests for certificates that somebody has approved.
    `--cluster-signing-cert-file=${certFile}`,
    `--cluster-signing-key-file=${keyFile}`,
    `--service-account-private-key-file=${accountKey}`,
    '--use-service-account-credentials=true',
  ];
}

const auditFiles = (folder: string) => ({
  policy: join(folder, 'audit-policy.json'),
  log: join(folder, 'audit.log'),
});

/** An administrator, the controllers and each kubelet. */
function usersOf(nodeNames: readonly string[]): Readonly<Record<string, TokenUser>> {
  const kubelets = nodeNames.map((name) => {
    return [name, { user: `system:node:${name}`, group: 'system:nodes' }];
  });
  return {
    admin: { user: 'test:admin', group: 'system:masters' },
    // One for both, because both may do all here.
    controllers: { user: 'test:controllers', group: 'system:masters' },
    ...Object.fromEntries(kubelets),
  };
}
