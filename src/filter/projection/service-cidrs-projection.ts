import type { Topology } from '../../topology/state/topology.ts';
import type { Change, ChangeHandler } from '../codec/change.ts';
import type { ObjectBytes } from '../codec/codec.ts';
import type { View } from '../view/view.ts';

/**
 * Shows ServiceCIDRs as they are, or none of them while this node leaves addresses of Services to the cloud:
 * in nftables mode kube-proxy drops what goes to an address in a ServiceCIDR that no Service it knows has
 * (chain cluster-ips-check, pkg/proxy/nftables), and so what is to be routed to the cloud.
 */
export class ServiceCidrsProjection implements ChangeHandler {
  readonly view: View;
  readonly #topology: Topology;
  readonly #objects = new Map<string, ObjectBytes>();
  readonly #unsubscribe: () => void;
  #synced = false;
  #hidden = false;

  constructor(view: View, topology: Topology) {
    this.view = view;
    this.#topology = topology;
    this.#unsubscribe = topology.subscribe({ changed: () => this.#topologyChanged() });
  }

  /** Stops listening to the world. */
  close(): void {
    this.#unsubscribe();
  }

  onChanges(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.type === 'DELETED') this.#objects.delete(change.key);
      else this.#objects.set(change.key, change.object);
      if (!this.view.started) continue;
      if (change.type === 'DELETED') this.view.delete(change.key);
      else if (!this.#hidden) this.view.showAsIs(change.key, change.object);
    }
    if (this.view.started) this.view.log.commit();
  }

  onSynced(): void {
    this.#synced = true;
    this.#tryStart();
  }

  #topologyChanged(): void {
    if (!this.view.started) {
      this.#tryStart();
      return;
    }
    if (this.#topology.leavesAddressesToCloud === this.#hidden) return;
    this.#hidden = !this.#hidden;
    for (const [key, object] of this.#objects) {
      if (this.#hidden) this.view.delete(key);
      else this.view.showAsIs(key, object);
    }
    this.view.log.commit();
  }

  #tryStart(): void {
    if (this.view.started || !this.#synced || this.#topology.nodeContext === undefined) return;
    this.#hidden = this.#topology.leavesAddressesToCloud;
    this.view.startAsIs(this.#hidden ? [] : this.#objects);
  }
}
