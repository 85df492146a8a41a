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

/** The Pods of this node that were looked up in the container runtime, at one time. */
export class LocalPods {
  readonly #names: ReadonlySet<string>;
  readonly #pods: readonly LocalPod[];

  /** @param names of the Pods that were looked up; those without a sandbox are not among `pods` */
  constructor(names: ReadonlySet<string>, pods: readonly LocalPod[]) {
    this.#names = names;
    this.#pods = pods;
  }

  /** Whether a Pod was looked up. Nothing is known of others. */
  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** `namespace/name` of the Pod that has an address now. */
  ownerOf(address: string): string | undefined {
    return this.#pods.find(({ network }) => network?.addresses.includes(address))?.name;
  }

  /**
   * The Pod that an endpoint names; undefined: the runtime does not have it. A Pod of the same name with another uid
   * is another Pod, except that the API server has a static Pod under the uid of its mirror Pod.
   */
  find(ref: PodRef): LocalPod | undefined {
    const candidates = this.#pods.filter(({ name }) => name === podName(ref));
    const same = candidates.find(({ uid }) => uid === ref.uid);
    if (same !== undefined) return same;
    // An edited static Pod has a new uid, and its old sandbox remains for a while.
    return candidates.find(
      ({ isStatic, network }) => (isStatic || ref.uid === '') && network !== undefined,
    );
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
