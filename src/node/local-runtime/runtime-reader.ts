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

  /** Looks up Pods. Rejects if the runtime does not answer. @param isWanted by the name: see podName() */
  async read(isWanted: (name: string) => boolean): Promise<LocalPods> {
    const sandboxes = await this.#runtime.sandboxes();
    this.#forget(sandboxes);
    const names = new Set(sandboxes.map(podName));
    const others = new Set([...names].filter((name) => !isWanted(name)));
    const wanted = sandboxes.filter((sandbox) => !others.has(podName(sandbox)));
    const instances = Map.groupBy(wanted, (sandbox) => `${podName(sandbox)} ${sandbox.uid}`);
    const pods = Array.from(instances.values(), (instance) => this.#readPod(instance));
    return new LocalPods(await Promise.all(pods), others);
  }

  /** @param instance all sandboxes of one Pod, at least one */
  async #readPod(instance: readonly Sandbox[]): Promise<LocalPod> {
    const [first] = instance as [Sandbox];
    const sandbox = readySandbox(instance);
    const network = sandbox && (await this.#network(sandbox.id));
    return { name: podName(first), uid: first.uid, isStatic: first.isStatic, network };
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
