import type { Change, ChangeSink } from '../filter/change.ts';
import type { LabelledObject } from '../filter/codec.ts';
import type { Policy } from '../topology/policy.ts';
import { filterOf, TOPOLOGY_KEYS_ANNOTATION } from '../topology/service-policy.ts';
import type { PolicyFeedOptions } from './services-feed.ts';

/** Tells the world the policies that Services take over from their Namespaces. */
export class NamespacesFeed implements ChangeSink<LabelledObject> {
  readonly #options: PolicyFeedOptions;

  constructor(options: PolicyFeedOptions) {
    this.#options = options;
  }

  changed(changes: readonly Change<LabelledObject>[]): void {
    const policies = new Map<string, Policy | undefined>();
    for (const change of changes) {
      const annotations = change.type === 'DELETED' ? undefined : change.facts.annotations;
      const changed = this.#options.book.setNamespace(change.key, {
        keys: annotations?.get(TOPOLOGY_KEYS_ANNOTATION),
        filter: annotations && filterOf(annotations),
      });
      for (const [service, policy] of changed) policies.set(service, policy);
      this.#report(change.key, changed);
    }
    this.#options.world.setPolicies(policies);
  }

  synced(): void {
    this.#options.world.setSynced('namespaces');
  }

  #report(namespace: string, changed: ReadonlyMap<string, Policy | undefined>): void {
    for (const policy of changed.values()) {
      if (policy === undefined || policy.managed || policy.reason !== 'invalid-policy') continue;
      this.#options.logger.warn(
        { namespace, services: changed.size, err: policy.message },
        'the topology policy of the Namespace is invalid; Services that follow it are unfiltered',
      );
      return;
    }
  }
}
