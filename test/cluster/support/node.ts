import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../e2e/support/eventually.ts';
import { type ProcessOptions, waitUntilReady } from '../../e2e/support/managed-process.ts';
import type { ClusterBinaries } from './binaries.ts';
import { removeCgroups } from './cgroups.ts';
import { type Containers, createContainers } from './containers.ts';
import { bootNode, type FirstProcess, type OnNode } from './first-process.ts';
import { API_SERVER, type ClusterNetwork, nodeAddress, podCidr } from './network.ts';
import {
  CRI_SOCKET,
  type NodeFiles,
  OWN_FOLDERS,
  snapshotter,
  writeNodeConfig,
} from './node-config.ts';

/**
 * A node: a real containerd and kubelet in network, mount and pid namespaces of their own.
 *
 *   off ── powerOn ──> booted ── startKubelet ──> running ── powerOff ──> off
 *
 * Everything on it descends from the first process of its pid namespace. When that process ends, the kernel ends the
 * others and removes the mounts, also if our own process was killed.
 */
export interface ClusterNode extends Containers {
  readonly name: string;
  /** Its InternalIP. */
  readonly address: string;
  /** Path of containerd's socket in the node's mounts, and so for a Pod that mounts the folder of it. */
  readonly criSocket: string;
  /** Path on this machine of a file below /run, /var/lib or /var/log of the node. */
  hostPath(path: string): string;
  /** Runs a command on the node to its end and returns its stdout. */
  exec(command: string, args: readonly string[], input?: string): Promise<string>;
  /** Starts a process on the node. It ends with the node, or with {@link OnNode.stop}. */
  spawn(options: Omit<ProcessOptions, 'logFile'>): OnNode;
  /** Arguments of nsenter, after which a command of this machine runs on the node, until that is off. */
  enter(): readonly string[];
  /** Drops everything that goes to the API server. Open connections stay open and fall silent. */
  cutOff(): Promise<void>;
  /** Undoes {@link ClusterNode.cutOff}. */
  reconnect(): Promise<void>;
  /** Kills all containers at the same moment, as a power cut does. The kubelet, which stays, starts them again. */
  powerCut(): Promise<void>;
  /** Ends the whole node without a word, and what it has in /run and in the kernel's tables. */
  powerOff(): Promise<void>;
  /** Boots it with the disk that it had: containerd runs afterwards. */
  powerOn(): Promise<void>;
  startKubelet(): Promise<void>;
  importImage(tar: string): Promise<void>;
}

export interface NodeOptions {
  readonly name: string;
  /** 1, 2, …; its addresses follow from it. */
  readonly index: number;
  /** How many nodes there are. */
  readonly of: number;
  readonly folder: string;
  readonly cgroup: string;
  readonly network: ClusterNetwork;
  readonly binaries: ClusterBinaries;
  readonly kubeconfig: string;
}

/** Describes a node that is off. */
export function createNode(options: NodeOptions): ClusterNode {
  return new Node(options).describe();
}

class Node {
  readonly #options: NodeOptions;
  readonly #files: NodeFiles;
  /** Undefined while the node is off. */
  #first: FirstProcess | undefined;

  constructor(options: NodeOptions) {
    this.#options = options;
    const { folder, index, cgroup } = options;
    mkdirSync(folder, { recursive: true });
    this.#files = writeNodeConfig({ folder, cgroup, podCidr: podCidr(index) });
  }

  describe(): ClusterNode {
    const { name, index } = this.#options;
    return {
      ...createContainers(async (command, args) => await this.#exec(command, args)),
      name,
      address: nodeAddress(index),
      criSocket: CRI_SOCKET,
      hostPath: (path) => this.#hostPath(path),
      exec: async (command, args, input) => await this.#exec(command, args, input),
      spawn: (process) => this.#running().spawn(process),
      enter: () => this.#running().enter(),
      cutOff: async () => await this.#dropToApiServer('-I'),
      reconnect: async () => await this.#dropToApiServer('-D'),
      powerCut: async () => await this.#killTasks(),
      powerOff: async () => await this.#powerOff(),
      powerOn: async () => await this.#powerOn(),
      startKubelet: async () => await this.#startKubelet(),
      importImage: async (tar) => await this.#importImage(tar),
    };
  }

  #hostPath(path: string): string {
    if (!OWN_FOLDERS.some((own) => path.startsWith(`/${own}/`))) {
      throw new Error(`${path} is not below a folder that a node has for itself`);
    }
    return join(this.#options.folder, path);
  }

  async #powerOn(): Promise<void> {
    const { name, index, of, folder, network, binaries } = this.#options;
    const namespace = await network.addNode(index, of);
    const { podProgram } = binaries;
    this.#first = await bootNode({ name, namespace, folder, podProgram });
    await this.#exec('sysctl', ['-qw', 'net.ipv4.ip_forward=1']);
    const { containerdConfig } = this.#files;
    const { process } = this.#running().spawn({
      name: 'containerd',
      command: 'containerd',
      args: ['--config', containerdConfig],
    });
    await waitUntilReady(process, async () => await this.#succeeds('ctr', ['version']));
  }

  async #powerOff(): Promise<void> {
    const { folder, index, network } = this.#options;
    const first = this.#first;
    if (first === undefined) return;
    this.#first = undefined;
    await first.stop();
    await network.removeNode(index);
    // containerd forgets the ids when it starts again.
    await removeCgroups(folder);
    rmSync(join(folder, 'run'), { recursive: true, force: true });
    mkdirSync(join(folder, 'run'));
  }

  async #startKubelet(): Promise<void> {
    const { name, index, binaries, kubeconfig } = this.#options;
    const args = [
      `--config=${this.#files.kubeletConfig}`,
      `--kubeconfig=${kubeconfig}`,
      `--hostname-override=${name}`,
      `--node-ip=${nodeAddress(index)}`,
    ];
    const started = this.#running().spawn({ name: 'kubelet', command: binaries.kubelet, args });
    const health = ['dial', 'http://127.0.0.1:10248/healthz', '1'];
    await waitUntilReady(started.process, async () =>
      (await this.#exec(binaries.podProgram, health)).includes('"ok"'),
    );
  }

  #running(): FirstProcess {
    if (this.#first === undefined) throw new Error(`the node ${this.#options.name} is off`);
    return this.#first;
  }

  async #exec(command: string, args: readonly string[], input?: string): Promise<string> {
    return await this.#running().exec(command, args, input);
  }

  async #succeeds(command: string, args: readonly string[]): Promise<boolean> {
    try {
      await this.#exec(command, args);
      return true;
    } catch {
      return false;
    }
  }

  async #dropToApiServer(action: '-I' | '-D'): Promise<void> {
    const { address, port } = API_SERVER;
    const rule = ['-d', address, '-p', 'tcp', '--dport', String(port), '-j', 'DROP'];
    // From the node itself, and from its Pods.
    for (const chain of ['OUTPUT', 'FORWARD']) {
      await this.#exec('iptables', ['-w', action, chain, ...rule]);
    }
  }

  async #killTasks(): Promise<void> {
    const tasks = (await this.#exec('ctr', ['-n', 'k8s.io', 'tasks', 'ls', '-q'])).trim();
    const kill = async (task: string) =>
      // One that ended meanwhile is no error.
      await this.#succeeds('ctr', ['-n', 'k8s.io', 'tasks', 'kill', '-s', 'SIGKILL', task]);
    await Promise.all(tasks.split('\n').filter(Boolean).map(kill));
  }

  async #importImage(tar: string): Promise<void> {
    const { folder } = this.#options;
    const args = ['images', 'import', '--snapshotter', snapshotter(folder), tar];
    await this.#exec('ctr', ['-n', 'k8s.io', ...args]);
  }
}

/** Waits until a node's kubelet has registered it, and it is ready. */
export async function waitForNodeReady(
  status: () => Promise<{ conditions?: readonly { type: string; status: string }[] }>,
  what: string,
): Promise<void> {
  await eventually(
    async () => (await status()).conditions ?? [],
    (conditions) => conditions.some((each) => each.type === 'Ready' && each.status === 'True'),
    { timeoutMs: 60_000, intervalMs: 200, what },
  );
}
