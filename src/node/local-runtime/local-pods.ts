import { isIP } from 'node:net';
import type { PodRef } from '../../filter/objects/pod-endpoint.ts';
import type { Sandbox, SandboxNetwork } from './container-runtime.ts';

/** A Pod as the container runtime has it. */
export interface LocalPod {
  /** See {@link podName}. */
  readonly name: string;
  readonly uid: string;
  readonly isStatic: boolean;
  /** Of its sandbox that is ready; undefined: none is. */
  readonly network: SandboxNetwork | undefined;
}

/** `namespace/name` of a Pod. */
export function podName({ namespace, name }: Pick<PodRef, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/** The Pods of this node that the container runtime has, at one time. A look-up costs the same for any number. */
export class LocalPods {
  readonly #byName: ReadonlyMap<string, readonly LocalPod[]>;
  readonly #owners = new Map<string, string>();
  readonly #others: ReadonlySet<string>;
  /** The same for all reads that have found the same. */
  readonly #text: string;

  /** @param others names of the Pods that were not looked up */
  constructor(pods: readonly LocalPod[], others: ReadonlySet<string> = new Set()) {
    // A runtime lists them in any order.
    const sorted = pods
      .map((pod) => ({ pod, text: JSON.stringify(pod) }))
      .sort((a, b) => (a.text < b.text ? -1 : 1));
    this.#byName = Map.groupBy(
      sorted.map(({ pod }) => pod),
      ({ name }) => name,
    );
    for (const { pod } of sorted) {
      for (const address of pod.network?.addresses ?? []) this.#owners.set(address, pod.name);
    }
    this.#others = others;
    this.#text = JSON.stringify([sorted.map(({ text }) => text), [...others].sort()]);
  }

  /** Whether each look-up has the same result in both. */
  equals(other: LocalPods): boolean {
    return this.#text === other.#text;
  }

  /** Whether it is known what the runtime has of a Pod, which may be nothing. */
  has(name: string): boolean {
    return !this.#others.has(name);
  }

  /** `namespace/name` of the Pod that has an address now. */
  ownerOf(address: string): string | undefined {
    return this.#owners.get(address);
  }

  /**
   * The Pod that an endpoint names; undefined: the runtime does not have it. A Pod of the same name with another uid
   * is another Pod, except that the API server has a static Pod under the uid of its mirror Pod.
   *
   * @param address that the endpoint had last
   */
  find(ref: PodRef, address: string): LocalPod | undefined {
    const candidates = this.#byName.get(podName(ref)) ?? [];
    const same = candidates.find(({ uid }) => uid === ref.uid);
    if (same !== undefined) return same;
    // An edited static Pod has a new uid, and its old sandbox remains for a while: until the API server is back, if the
    // kubelet has started without it. Both serve then.
    const running = candidates.filter(
      ({ isStatic, network }) => (isStatic || ref.uid === '') && network !== undefined,
    );
    return running.find(({ network }) => network?.addresses.includes(address)) ?? running[0];
  }
}

/**
 * The newest ready sandbox among those of one Pod; undefined: none is ready. Attempts count first: the clock of a node
 * without a battery starts again after a power cut.
 */
export function readySandbox(sandboxes: readonly Sandbox[]): Sandbox | undefined {
  return sandboxes
    .filter(({ ready }) => ready)
    .reduce<Sandbox | undefined>((best, each) => {
      if (best === undefined || each.attempt > best.attempt) return each;
      return each.attempt === best.attempt && each.createdAt > best.createdAt ? each : best;
    }, undefined);
}

/**
 * Without what is not an address: the runtime's text becomes part of what kube-proxy reads. Also without an address of
 * the node, because the kubelet may have chosen another one.
 */
export function validAddresses({ isHostNetwork, addresses }: SandboxNetwork): SandboxNetwork {
  if (isHostNetwork) return { isHostNetwork, addresses: [] };
  return { isHostNetwork, addresses: addresses.filter((each) => isIP(each) !== 0) };
}
