import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { writeKubeconfig } from '../api-server/kubeconfig.ts';
import { poll } from '../poll.ts';
import { ensureYurtHub } from './binaries.ts';
import type { Cluster } from './cluster.ts';
import { API_SERVER } from './network.ts';
import type { ClusterNode } from './node.ts';

/** YurtHub on a node, as a service of the node. */
export type YurtHub = Awaited<ReturnType<typeof prepareYurtHub>>;

const BOOTSTRAP = '/etc/yurthub/bootstrap.conf';
const KUBECONFIG = '/etc/kubernetes/kubelet-via-yurthub.conf';
const CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

/** Prepares YurtHub on a node, without OpenYurt's controllers: this test approves its certificates instead. */
export async function prepareYurtHub(cluster: Cluster, node: ClusterNode) {
  const program = await ensureYurtHub();
  await grantRights(cluster);
  const [bootstrap, kubeconfig] = [node.hostPath(BOOTSTRAP), node.hostPath(KUBECONFIG)];
  mkdirSync(dirname(bootstrap), { recursive: true });
  writeFileSync(bootstrap, bootstrapConfig(join(cluster.folder, `${node.name}.kubeconfig`)));
  writeKubeconfig(kubeconfig, { server: 'http://127.0.0.1:10261' });
  const args = [
    `--server-addr=https://${API_SERVER.address}:${API_SERVER.port}`,
    `--node-name=${node.name}`,
    `--node-ip=${node.address}`,
    '--nodepool-name=pool',
    `--bootstrap-file=${BOOTSTRAP}`,
    '--working-mode=edge',
    // These change what clients see, and need OpenYurt's own resources.
    '--enable-resource-filter=false',
    '--enable-dummy-if=false',
    '--v=2',
  ];
  const health = ['dial', 'http://127.0.0.1:10267/v1/readyz', '1'];
  return {
    /** Of a kubelet that reads and writes through it. */
    kubeconfig: KUBECONFIG,
    /** Starts it, also after a reboot, and waits until it answers. */
    start: async () => {
      const { process } = node.spawn({ name: 'yurthub', command: program, args });
      await poll(
        async () => {
          await approveCertificates(cluster);
          return await node.exec(cluster.binaries.podProgram, health);
        },
        (said) => said.includes('"OK"'),
        { timeoutMs: 180_000, intervalMs: 500, what: `YurtHub; see ${process.logFile}` },
      );
    },
  };
}

/** YurtHub wants the authority in the file itself. */
function bootstrapConfig(kubeconfig: string): string {
  const config = JSON.parse(readFileSync(kubeconfig, 'utf8'));
  const { cluster } = config.clusters[0];
  const { 'certificate-authority': caFile, ...rest } = cluster;
  const ca = readFileSync(caFile).toString('base64');
  config.clusters[0].cluster = { ...rest, 'certificate-authority-data': ca };
  return JSON.stringify(config);
}

/** Beyond the rights of a kubelet, which it has too: it watches its own settings, and Services for its clients. */
async function grantRights({ admin }: Cluster): Promise<void> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const name = 'yurt-hub';
  await admin.create(`${rbac}/clusterroles`, {
    metadata: { name },
    rules: [
      { apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] },
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
    ],
  });
  await admin.create(`${rbac}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'openyurt:yurthub' }],
  });
}

/** As OpenYurt's controllers do. */
async function approveCertificates(cluster: Cluster): Promise<void> {
  for (const { metadata, status } of await cluster.admin.list(CSRS)) {
    if (status?.conditions !== undefined) continue;
    await cluster.kubectl(['certificate', 'approve', metadata.name]);
  }
}
