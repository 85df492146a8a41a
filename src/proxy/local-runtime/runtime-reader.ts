import type { ContainerRuntime, Sandbox } from './container-runtime.ts';
import { type LocalPod, LocalPods, podName, readySandbox, validAddresses } from './local-pods.ts';

/**
 * Reads Pods from the container runtime: a list of all sandboxes, and the status of each one that is ready. It never
 * changes, so it is requested once and kept as long as the sandbox is listed.
 */
export class RuntimeReader {
  readonly #runtime: ContainerRuntime;
  readonly #networks = new Map<string, LocalPod['network']>();

  constructor(runtime: ContainerRuntime) {
    this.#runtime = runtime;
  }

  /** Looks up Pods. Rejects if the runtime does not answer. @param names see podName() */
  async read(names: ReadonlySet<string>): Promise<LocalPods> {
    const all = await this.#runtime.sandboxes();
    const sandboxes = all.filter((each) => names.has(podName(each)));
    this.#forget(all);
    const pods = new Map<string, LocalPod[]>(Array.from(names, (name) => [name, []]));
    const instances = Map.groupBy(sandboxes, (each) => `${podName(each)} ${each.uid}`);
    await Promise.all(
      Array.from(instances.values(), async (instance) => {
        const pod = await this.#readPod(instance);
        pods.get(podName(instance[0] as Sandbox))?.push(pod);
      }),
    );
    return new LocalPods(pods);
  }

  /** @param instance all sandboxes of one Pod, at least one */
  async #readPod(instance: readonly Sandbox[]): Promise<LocalPod> {
    const { uid, isStatic } = instance[0] as Sandbox;
    const sandbox = readySandbox(instance);
    const network = sandbox && (await this.#network(sandbox.id));
    return { uid, isStatic, network };
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

  #forget(sandboxes: readonly Sandbox[]): void {
    const ids = new Set(sandboxes.map(({ id }) => id));
    for (const id of this.#networks.keys()) if (!ids.has(id)) this.#networks.delete(id);
  }
}
