import type { Container, ContainerExit, ContainerRuntime, Sandbox } from './container-runtime.ts';
import {
  allRun,
  type LocalPod,
  LocalPods,
  newestContainers,
  podName,
  readySandbox,
  validAddresses,
} from './local-pods.ts';

/**
 * Reads Pods from the container runtime: two lists, and the status of each new sandbox and of each container that has
 * ended. These never change, so they are requested once and kept as long as they are listed.
 */
export class RuntimeReader {
  readonly #runtime: ContainerRuntime;
  #networks = new Map<string, LocalPod['network']>();
  #exits = new Map<string, ContainerExit>();

  constructor(runtime: ContainerRuntime) {
    this.#runtime = runtime;
  }

  /** Looks up Pods. Rejects if the runtime does not answer. @param names see podName() */
  async read(names: ReadonlySet<string>): Promise<LocalPods> {
    const [allSandboxes, allContainers] = await Promise.all([
      this.#runtime.sandboxes(),
      this.#runtime.containers(),
    ]);
    const sandboxes = allSandboxes.filter((each) => names.has(podName(each)));
    const containers = Map.groupBy(allContainers, ({ sandbox }) => sandbox);
    this.#forget(allSandboxes, allContainers);
    const pods = new Map<string, LocalPod[]>(Array.from(names, (name) => [name, []]));
    const instances = Map.groupBy(sandboxes, (each) => `${podName(each)} ${each.uid}`);
    await Promise.all(
      Array.from(instances.values(), async (instance) => {
        const pod = await this.#readPod(instance, containers);
        pods.get(podName(instance[0] as Sandbox))?.push(pod);
      }),
    );
    return new LocalPods(pods);
  }

  /** @param instance all sandboxes of one Pod, at least one */
  async #readPod(
    instance: readonly Sandbox[],
    containers: ReadonlyMap<string, readonly Container[]>,
  ): Promise<LocalPod> {
    const { uid, isStatic } = instance[0] as Sandbox;
    const sandbox = readySandbox(instance);
    const network = sandbox && (await this.#network(sandbox.id));
    if (network === undefined) return { uid, isStatic, network, isRunning: false };
    const own = containers.get(sandbox?.id ?? '') ?? [];
    await this.#readExits(own);
    const isRunning = allRun(own, ({ id }) => this.#exits.get(id));
    return { uid, isStatic, network, isRunning };
  }

  async #network(sandbox: string): Promise<LocalPod['network']> {
    const known = this.#networks.get(sandbox);
    if (known !== undefined) return known;
    const read = await this.#runtime.network(sandbox);
    if (read === undefined) return undefined;
    const network = validAddresses(read);
    if (network.isHostNetwork || network.addresses.length > 0) this.#networks.set(sandbox, network);
    return network;
  }

  async #readExits(containers: readonly Container[]): Promise<void> {
    const ended = newestContainers(containers).filter(
      ({ id, state }) => state === 'exited' && !this.#exits.has(id),
    );
    await Promise.all(
      ended.map(async ({ id }) => {
        const exit = await this.#runtime.exit(id);
        if (exit !== undefined) this.#exits.set(id, exit);
      }),
    );
  }

  #forget(sandboxes: readonly Sandbox[], containers: readonly Container[]): void {
    const ids = new Set([...sandboxes, ...containers].map(({ id }) => id));
    for (const id of this.#networks.keys()) if (!ids.has(id)) this.#networks.delete(id);
    for (const id of this.#exits.keys()) if (!ids.has(id)) this.#exits.delete(id);
  }
}
