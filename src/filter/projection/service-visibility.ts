import { isOfOtherProxy, type ServiceFilter } from '../../topology/policy/service-policy.ts';
import { PROXY_NAME_LABEL, readerOf } from '../../topology/policy/service-reader.ts';
import type { Topology } from '../../topology/state/topology.ts';
import type { Codec, ObjectBytes, ServiceFacts } from '../codec/codec.ts';
import type { Change } from '../objects/change.ts';
import type { Visibility } from './objects-projection.ts';

export interface ServiceVisibilityOptions {
  readonly codec: Codec;
  readonly topology: Topology;
  readonly serviceFilter: ServiceFilter | undefined;
  /** Whether to wait until the view of slices has reported which Services are withheld. */
  readonly followsWithheld: boolean;
}

/**
 * Hides the Services that another proxy serves, those whose traffic all goes to the cloud, and those whose first policy
 * is pending.
 */
export class ServiceVisibility implements Visibility<ServiceFacts> {
  readonly #options: ServiceVisibilityOptions;
  /** Services that the settings leave to another proxy, by their labels. */
  readonly #ofOtherProxy = new Set<string>();
  /** For {@link takeUnread}; undefined: kube-proxy reads the Service, or it is gone. */
  #unread = new Map<string, boolean | undefined>();

  constructor(options: ServiceVisibilityOptions) {
    this.#options = options;
  }

  report(change: Change<ServiceFacts>): void {
    const { serviceFilter } = this.#options;
    const { key } = change;
    const facts = change.type === 'DELETED' ? undefined : change.facts;
    const isOther = facts !== undefined && isOfOtherProxy(facts, serviceFilter);
    if (isOther) this.#ofOtherProxy.add(key);
    else this.#ofOtherProxy.delete(key);
    const isUnread = facts !== undefined && readerOf(facts) !== 'kube-proxy';
    if (serviceFilter !== undefined) {
      this.#unread.set(key, isUnread ? isOther : undefined);
    }
  }

  takeUnread(): ReadonlyMap<string, boolean | undefined> {
    const unread = this.#unread;
    if (unread.size > 0) this.#unread = new Map();
    return unread;
  }

  isKnown(): boolean {
    const { topology, followsWithheld } = this.#options;
    return topology.synced && (!followsWithheld || topology.withheld !== undefined);
  }

  isHidden(key: string, hidden?: ObjectBytes): boolean {
    if (this.#options.topology.isHidden(key, this.#ofOtherProxy.has(key))) return true;
    return hidden !== undefined && this.#isGone(key, hidden);
  }

  /**
   * Whether the topology no longer has a hidden Service: it was deleted, and the watch of this view may be late. But
   * the watch of the topology may exclude Services of other proxies: such a Service does exist.
   */
  #isGone(key: string, hidden: ObjectBytes): boolean {
    const { topology, codec } = this.#options;
    const policy = topology.activePolicy(key);
    if (policy?.managed !== false || policy.reason !== 'unknown-service') return false;
    return !codec.service(hidden).labels.has(PROXY_NAME_LABEL);
  }
}
