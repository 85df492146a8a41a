import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type ProcessOptions, waitUntilReady } from '../process/managed-process.ts';
import type { ClusterBinaries } from './binaries.ts';
import { removeCgroups } from './cgroups.ts';
import { type Container, listContainers } from './containers.ts';
import { bootNode, type FirstProcess, type OnNode } from './first-process.ts';
import { API_SERVER, type ClusterNetwork, nodeAddress, podCidr } from './network.ts';
import {
  CRI_SOCKET,
  type NodeFiles,
  OWN_FOLDERS,
  snapshotter,
  writeNodeConfig,
  writeRuntimeSpec,
} from './node-config.ts';

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

/**
 * A node: a real containerd and kubelet in network, mount and pid namespaces of their own.
 *
 *   off ── powerOn ──> booted ── startKubelet ──> running ── powerOff ──> off
 *
 * Everything on it descends from the first process of its pid namespace. When that process ends, the kernel ends the
 * others and removes the mounts, also if our own process was killed.
 */
export class ClusterNode {
  readonly name: string;
  /** Its InternalIP. */
  readonly address: string;
  /** Path of containerd's socket in the node's mounts, and so for a Pod that mounts the folder of it. */
  readonly criSocket = CRI_SOCKET;
  readonly #options: NodeOptions;
  readonly #files: NodeFiles;
  readonly #kubelet: string;
  #execs = 0;
  /** Undefined while the node is off. */
  #first: FirstProcess | undefined;

  /** It is off at first. */
  constructor(options: NodeOptions) {
    const { name, folder, index, cgroup } = options;
    this.name = name;
    this.address = nodeAddress(index);
    this.#options = options;
    mkdirSync(folder, { recursive: true });
    this.#files = writeNodeConfig({ folder, cgroup, podCidr: podCidr(index) });
    // It names itself after its file, and YurtHub keeps copies for the name `kubelet`.
    this.#kubelet = join(folder, 'kubelet');
    symlinkSync(options.binaries.kubelet, this.#kubelet);
  }

  /** Containers that run, without sandboxes. */
  async containers(): Promise<Container[]> {
    return await listContainers(async (...args) => await this.#ctr(...args));
  }

  /** Runs a command in the only container of a Pod and returns its stdout. It needs no API server. */
  async execInPod(pod: string, command: readonly string[]): Promise<string> {
    const found = (await this.containers()).find((each) => each.pod === pod);
    if (found === undefined) throw new Error(`no container of ${pod} runs on this node`);
    this.#execs += 1;
    const id = `test-${process.pid}-${this.#execs}`;
    return await this.#ctr('tasks', 'exec', '--exec-id', id, found.id, ...command);
  }

  /** Path on this machine of a file below /etc, /run, /var/lib or /var/log of the node. */
  hostPath(path: string): string {
    if (!OWN_FOLDERS.some((own) => path.startsWith(`/${own}/`))) {
      throw new Error(`${path} is not below a folder that a node has for itself`);
    }
    return join(this.#options.folder, path);
  }

  /** Runs a command on the node to its end and returns its stdout. */
  async exec(command: string, args: readonly string[], input?: string): Promise<string> {
    return await this.#running().exec(command, args, input);
  }

  /** Starts a process on the node. It ends with the node, or with {@link OnNode.stop}. */
  spawn(options: Omit<ProcessOptions, 'logFile'>): OnNode {
    return this.#running().spawn(options);
  }

  /** Arguments of nsenter, after which a command of this machine runs on the node, until that is off. */
  enter(): readonly string[] {
    return this.#running().enter();
  }

  /** Drops everything that goes to the API server. Open connections stay open and fall silent. */
  async cutOff(): Promise<void> {
    await this.#dropToApiServer('-I');
  }

  /** Undoes {@link ClusterNode.cutOff}. */
  async reconnect(): Promise<void> {
    await this.#dropToApiServer('-D');
  }

  /** Boots it with the disk that it had: containerd runs afterwards. */
  async powerOn(): Promise<void> {
    const { name, index, of, folder, network, binaries } = this.#options;
    const namespace = await network.addNode(index, of);
    const { podProgram } = binaries;
    this.#first = await bootNode({ name, namespace, folder, podProgram });
    await this.exec('sysctl', ['-qw', 'net.ipv4.ip_forward=1']);
    writeRuntimeSpec(this.#files, await this.exec('ctr', ['oci', 'spec']));
    const { containerdConfig } = this.#files;
    const { process } = this.#running().spawn({
      name: 'containerd',
      command: 'containerd',
      args: ['--config', containerdConfig],
    });
    await waitUntilReady(process, async () => await this.#succeeds('version'));
  }

  /** Ends the whole node without a word, and what it has in /run and in the kernel's tables. */
  async powerOff(): Promise<void> {
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

  /** A power cut at a cut-off node: it boots, and still does not reach the API server. Start the kubelet afterwards. */
  async rebootCutOff(): Promise<void> {
    await this.cutOff();
    await this.powerOff();
    await this.powerOn();
    await this.cutOff();
  }

  /** @param options `kubeconfig`: default the kubeconfig of the cluster; `flags`: further ones */
  async startKubelet(
    options: { readonly kubeconfig?: string; readonly flags?: readonly string[] } = {},
  ): Promise<void> {
    const { name, index, binaries } = this.#options;
    const { kubeconfig = this.#options.kubeconfig, flags = [] } = options;
    const args = [
      `--config=${this.#files.kubeletConfig}`,
      `--kubeconfig=${kubeconfig}`,
      `--hostname-override=${name}`,
      `--node-ip=${nodeAddress(index)}`,
      ...flags,
    ];
    const started = this.#running().spawn({ name: 'kubelet', command: this.#kubelet, args });
    const health = ['dial', 'http://127.0.0.1:10248/healthz', '1'];
    await waitUntilReady(started.process, async () =>
      (await this.exec(binaries.podProgram, health)).includes('"ok"'),
    );
  }

  #running(): FirstProcess {
    if (this.#first === undefined) throw new Error(`the node ${this.#options.name} is off`);
    return this.#first;
  }

  async #ctr(...args: readonly string[]): Promise<string> {
    return await this.exec('ctr', ['-n', 'k8s.io', ...args]);
  }

  /** Whether ctr does. */
  async #succeeds(...args: readonly string[]): Promise<boolean> {
    try {
      await this.#ctr(...args);
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
      await this.exec('iptables', ['-w', action, chain, ...rule]);
    }
  }

  /** Kills all containers at the same moment. The kubelet, which stays, starts them again. */
  async killContainers(): Promise<void> {
    const tasks = (await this.#ctr('tasks', 'ls', '-q')).trim();
    const kill = async (task: string) =>
      // One that ended meanwhile is no error.
      await this.#succeeds('tasks', 'kill', '-s', 'SIGKILL', task);
    await Promise.all(tasks.split('\n').filter(Boolean).map(kill));
  }

  async importImage(tar: string): Promise<void> {
    const { folder } = this.#options;
    await this.#ctr('images', 'import', '--snapshotter', snapshotter(folder), tar);
  }
}
