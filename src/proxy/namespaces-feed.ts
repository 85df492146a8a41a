import type { Logger } from 'pino';
import type { Change, ChangeSink } from '../filter/change.ts';
import type { LabelledObject } from '../filter/codec.ts';
import type { Policy } from '../topology/policy.ts';
import type { PolicyBook } from '../topology/policy-book.ts';
import { FILTER_ANNOTATION, TOPOLOGY_KEYS_ANNOTATION } from '../topology/service-policy.ts';
import type { World } from '../topology/world.ts';

/** Tells the world the policies that Services take over from their Namespaces. */
export class NamespacesFeed implements ChangeSink<LabelledObject> {
  readonly #world: World;
  readonly #book: PolicyBook;
  readonly #logger: Logger;

  constructor(options: {
    readonly world: World;
    readonly book: PolicyBook;
    readonly logger: Logger;
  }) {
    this.#world = options.world;
    this.#book = options.book;
    this.#logger = options.logger;
  }

  changed(changes: readonly Change<LabelledObject>[]): void {
    const policies = new Map<string, Policy | undefined>();
    for (const change of changes) {
      const annotations = change.type === 'DELETED' ? undefined : change.facts.annotations;
      const changed = this.#book.setNamespace(change.key, {
        keys: annotations?.get(TOPOLOGY_KEYS_ANNOTATION),
        filter: annotations?.get(FILTER_ANNOTATION),
      });
      for (const [service, policy] of changed) policies.set(service, policy);
      this.#report(change.key, changed);
    }
    this.#world.setPolicies(policies);
  }

  synced(): void {
    this.#world.setSynced('namespaces');
  }

  #report(namespace: string, changed: ReadonlyMap<string, Policy | undefined>): void {
    for (const policy of changed.values()) {
      if (policy === undefined || policy.managed || policy.reason !== 'invalid-policy') continue;
      this.#logger.warn(
        { namespace, services: changed.size, err: policy.message },
        'the topology policy of the Namespace is invalid; Services that follow it are unfiltered',
      );
      return;
    }
  }
}
