import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiClient } from '../api-server/api.ts';
import { createKubectl, type Kubectl } from '../api-server/kubectl.ts';
import { poll } from '../poll.ts';
import { type ClusterBinaries, ensureClusterBinaries } from './binaries.ts';
import { removeCgroups } from './cgroups.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { makeImages } from './images.ts';
import { createNetwork, removeNetwork } from './network.ts';
import { ClusterNode } from './node.ts';
import { abandonedNumbers, folderOf, prefixOf, releaseNumber, reserveNumber } from './owner.ts';

/** A whole cluster on this machine, without an image registry. */
export interface Cluster {
  readonly admin: ApiClient;
  /** Of an administrator, for use on this machine. */
  readonly kubeconfig: string;
  readonly binaries: ClusterBinaries;
  readonly nodes: readonly ClusterNode[];
  /** Folder of its files and logs; removed by stop. */
  readonly folder: string;
  node(name: string): ClusterNode;
  /** As an administrator. */
  readonly kubectl: Kubectl;
  /** What wrappers and relays have asked of the API server, in order. */
  readonly requests: ControlPlane['requests'];
  /** Ends and removes everything. */
  stop(): Promise<void>;
}

export interface ClusterOptions {
  /** Default: edge-1 to edge-3. */
  readonly nodeNames?: readonly string[];
}

/** Starts a cluster and waits until its nodes are ready. Takes about 20 s. Needs root. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { nodeNames = ['edge-1', 'edge-2', 'edge-3'] } = options;
  const binaries = await ensureClusterBinaries();
  for (const number of abandonedNumbers()) await removeCluster(number);
  const number = reserveNumber();
  const folder = folderOf(number);
  const started: { plane?: ControlPlane; nodes: ClusterNode[] } = { nodes: [] };
  const stop = async () => {
    await Promise.all(started.nodes.map(async (node) => await node.powerOff()));
    await started.plane?.stop();
    await removeCluster(number);
  };
  try {
    mkdirSync(folder, { recursive: true });
    const network = await createNetwork(number);
    const plane = await startControlPlane({ binaries, network, folder, nodeNames });
    started.plane = plane;
    const images = makeImages(binaries, join(folder, 'images'));
    started.nodes = nodeNames.map(
      (name, index) =>
        new ClusterNode({
          name,
          index: index + 1,
          of: nodeNames.length,
          network,
          binaries,
          folder: join(folder, name),
          cgroup: `/${prefixOf(number)}/${index + 1}`,
          kubeconfig: plane.kubeletConfig(name),
        }),
    );
    await Promise.all(started.nodes.map(async (node) => await bringUp(node, plane, images)));
    return describeCluster(plane, { binaries, folder, nodes: started.nodes, stop });
  } catch (error) {
    const logs = lastLines(folder, nodeNames);
    await stop();
    throw new Error(`the cluster did not start: ${String(error)}\n${logs}`, { cause: error });
  }
}

async function bringUp(
  node: ClusterNode,
  plane: ControlPlane,
  images: Promise<readonly string[]>,
): Promise<void> {
  await node.powerOn();
  for (const image of await images) await node.importImage(image);
  await plane.ready;
  await node.startKubelet();
  await poll(
    async () => (await plane.admin.get(`/api/v1/nodes/${node.name}`)).status.conditions ?? [],
    (conditions: readonly { type: string; status: string }[]) =>
      conditions.some((each) => each.type === 'Ready' && each.status === 'True'),
    { timeoutMs: 180_000, intervalMs: 200, what: `the node ${node.name} is ready` },
  );
}

/** Removes a cluster whose processes have ended, or end now: also one whose test process was killed. */
async function removeCluster(number: number): Promise<void> {
  await removeNetwork(number);
  const folder = folderOf(number);
  const parts = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
  for (const part of parts.filter((each) => each.isDirectory())) {
    await removeCgroups(join(folder, part.name));
  }
  rmSync(folder, { recursive: true, force: true });
  releaseNumber(number);
}

function describeCluster(
  plane: ControlPlane,
  parts: Pick<Cluster, 'binaries' | 'folder' | 'nodes' | 'stop'>,
): Cluster {
  const { admin, kubeconfig, requests } = plane;
  return {
    ...parts,
    admin,
    kubeconfig,
    requests,
    node: (name) => {
      const found = parts.nodes.find((node) => node.name === name);
      if (found === undefined) throw new Error(`there is no node ${name}`);
      return found;
    },
    kubectl: createKubectl(parts.binaries.kubectl, kubeconfig),
  };
}

/** The ends of all logs, for the message of a cluster that does not start. */
function lastLines(folder: string, nodeNames: readonly string[]): string {
  const names = ['etcd', 'kube-apiserver', 'kube-scheduler', 'kube-controller-manager'];
  const ofNodes = nodeNames.flatMap((node) =>
    ['boot', 'containerd', 'kubelet'].map((name) => `${node}/${name}`),
  );
  return [...names, ...ofNodes]
    .map((name) => ({ name, path: join(folder, `${name}.log`) }))
    .filter(({ path }) => existsSync(path))
    .map(({ name, path }) => `== ${name}\n${readFileSync(path, 'utf8').slice(-1500)}`)
    .join('\n');
}
