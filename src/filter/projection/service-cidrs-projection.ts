import type { Topology } from '../../topology/state/topology.ts';
import type { Change, ChangeHandler } from '../codec/change.ts';
import type { ObjectBytes } from '../codec/codec.ts';
import type { View } from '../view/view.ts';

/**
 * - `listing`: objects are stored; the API server has not listed all of them yet.
 * - `waiting`: all objects are stored; the own Node is still unknown.
 * - `shown`: the view is open and has all objects.
 * - `hidden`: the view is open and empty, because this node leaves the addresses of Services to the cloud.
 */
type State = 'listing' | 'waiting' | 'shown' | 'hidden';

/**
 * Shows ServiceCIDRs unchanged, or none of them while this node leaves the addresses of Services to the cloud.
 *
 *     listing ──onSynced()──▶ waiting ──own Node known──▶ shown ◀──own Node changes──▶ hidden
 *
 * In nftables mode, kube-proxy drops packets to an address of a ServiceCIDR if no Service that it knows has this
 * address (chain cluster-ips-check, pkg/proxy/nftables). That would drop what must be routed to the cloud.
 */
export class ServiceCidrsProjection implements ChangeHandler {
  readonly view: View;
  readonly #topology: Topology;
  readonly #objects = new Map<string, ObjectBytes>();
  readonly #unsubscribe: () => void;
  #state: State = 'listing';

  constructor(view: View, topology: Topology) {
    this.view = view;
    this.#topology = topology;
    this.#unsubscribe = topology.subscribe({ changed: () => this.#topologyChanged() });
  }

  /** Unsubscribes from the topology. */
  close(): void {
    this.#unsubscribe();
  }

  onChanges(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.type === 'DELETED') this.#objects.delete(change.key);
      else this.#objects.set(change.key, change.object);
      if (this.#state !== 'shown') continue;
      if (change.type === 'DELETED') this.view.delete(change.key);
      else this.view.setUnchanged(change.key, change.object);
    }
    if (this.#state === 'shown') this.view.log.commit();
  }

  onSynced(): void {
    if (this.#state !== 'listing') return;
    this.#state = 'waiting';
    this.#tryStart();
  }

  #topologyChanged(): void {
    if (this.#state === 'listing') return;
    if (this.#state === 'waiting') {
      this.#tryStart();
      return;
    }
    const next = this.#visibility();
    if (next === this.#state) return;
    this.#state = next;
    for (const [key, object] of this.#objects) {
      if (next === 'hidden') this.view.delete(key);
      else this.view.setUnchanged(key, object);
    }
    this.view.log.commit();
  }

  #tryStart(): void {
    if (this.#topology.nodeContext === undefined) return;
    this.#state = this.#visibility();
    this.view.startUnchanged(this.#state === 'shown' ? this.#objects : []);
  }

  #visibility(): 'shown' | 'hidden' {
    return this.#topology.leavesAddressesToCloud ? 'hidden' : 'shown';
  }
}
