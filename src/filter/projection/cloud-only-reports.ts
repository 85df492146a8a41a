import type { Topology } from '../../topology/state/topology.ts';

/**
 * Reports to the topology which Services a view leaves to the cloud, so that the views of Services hide them.
 *
 * The order matters: a Service is hidden before its endpoints go and shown after they come back. A Service without
 * endpoints would refuse connections in between.
 */
export class CloudOnlyReports {
  readonly #topology: Topology;
  /** Services that were decided and are not reported yet; true: left to the cloud. */
  readonly #pending = new Map<string, boolean>();

  constructor(topology: Topology) {
    this.#topology = topology;
  }

  add(service: string, isCloudOnly: boolean): void {
    this.#pending.set(service, isCloudOnly);
  }

  /** Reports the Services that are left to the cloud; call it before clients see their endpoints go. */
  reportHidden(): void {
    this.#report((isCloudOnly) => isCloudOnly);
  }

  /** Reports all other Services; call it after clients see their endpoints. */
  reportShown(): void {
    this.#report((isCloudOnly) => !isCloudOnly);
  }

  /** Reports all Services together: the state with which the view starts. */
  reportInitial(): void {
    this.#report(() => true);
  }

  #report(isIncluded: (isCloudOnly: boolean) => boolean): void {
    const reported = new Map([...this.#pending].filter(([, value]) => isIncluded(value)));
    for (const service of reported.keys()) this.#pending.delete(service);
    this.#topology.setCloudOnly(reported);
  }
}
