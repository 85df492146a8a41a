import type { Logger } from 'pino';
import type { Change, ChangeSink } from '../filter/change.ts';
import type { ServiceFacts } from '../filter/codec.ts';
import type { Policy } from '../topology/policy.ts';
import type { PolicyBook } from '../topology/policy-book.ts';
import type { ServiceDescription } from '../topology/service-policy.ts';
import type { World } from '../topology/world.ts';

/** Tells the world the policy of each Service, and the log of each version whose annotations are invalid. */
export class ServicesFeed implements ChangeSink<ServiceFacts> {
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

  changed(changes: readonly Change<ServiceFacts>[]): void {
    const policies = new Map<string, Policy | undefined>();
    for (const change of changes) {
      if (change.type === 'DELETED') this.#book.deleteService(change.key);
      const policy = change.type === 'DELETED' ? undefined : this.#policyOf(change.facts);
      policies.set(change.key, policy);
    }
    this.#world.setPolicies(policies);
  }

  synced(): void {
    this.#world.setSynced('services');
  }

  #policyOf(facts: ServiceFacts): Policy {
    const policy = this.#book.setService(describeService(facts));
    if (!policy.managed && policy.reason === 'invalid-policy') {
      const service = `${facts.namespace}/${facts.name}`;
      this.#logger.warn(
        { service, rv: facts.resourceVersion, err: policy.message },
        'the topology policy is invalid; the Service is unfiltered',
      );
    }
    return policy;
  }
}

/** What a policy depends on. */
export function describeService(facts: ServiceFacts): ServiceDescription {
  return {
    namespace: facts.namespace,
    name: facts.name,
    labels: facts.labels,
    annotations: facts.annotations,
    headless: facts.clusterIP === 'None',
    localTraffic:
      facts.internalTrafficPolicy === 'Local' || facts.externalTrafficPolicy === 'Local',
  };
}
