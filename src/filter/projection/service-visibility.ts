import { isOfOtherProxy, type ServiceFilter } from '../../topology/policy/service-policy.ts';
import { HEADLESS_LABEL, readerOf } from '../../topology/policy/service-reader.ts';
import type { Topology } from '../../topology/state/topology.ts';
import type { ServiceFacts } from '../codec/codec.ts';
import type { Change } from '../objects/change.ts';
import type { Visibility } from './objects-projection.ts';

export interface ServiceVisibilityOptions {
  readonly topology: Topology;
  readonly serviceFilter: ServiceFilter | undefined;
  /** Whether to wait until the view of slices has reported which Services are withheld. */
  readonly followsWithheld: boolean;
}

/**
 * Hides the Services that another proxy serves, those whose traffic all goes to the cloud, and those whose first policy
 * is pending or not known yet: the topology may read Services by another watch than this view, and that watch may be
 * late. A Service that the topology no longer knows is gone.
 */
export class ServiceVisibility implements Visibility<ServiceFacts> {
  readonly #options: ServiceVisibilityOptions;
  /** Services that the settings leave to another proxy, by their labels. */
  readonly #ofOtherProxy = new Set<string>();
  /** Services that the topology may never know, because its query need not contain them. */
  readonly #mayBeUnknown = new Set<string>();
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
    if (isUnread || facts?.labels.has(HEADLESS_LABEL)) this.#mayBeUnknown.add(key);
    else this.#mayBeUnknown.delete(key);
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

  isHidden(key: string): boolean {
    const { topology } = this.#options;
    if (topology.isHidden(key, this.#ofOtherProxy.has(key))) return true;
    if (this.#mayBeUnknown.has(key)) return false;
    const policy = topology.activePolicy(key);
    return policy?.managed === false && policy.reason === 'unknown-service';
  }
}
