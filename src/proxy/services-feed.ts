import type { Logger } from 'pino';
import type { Change, ChangeSink } from '../filter/change.ts';
import type { ServiceFacts } from '../filter/codec.ts';
import {
  type Policy,
  type PolicySettings,
  policyFor,
  type ServiceDescription,
  TOPOLOGY_KEYS_ANNOTATION,
} from '../topology/policy.ts';
import type { World } from '../topology/world.ts';

/** Tells the world the policy of each Service, and the log of each version whose annotation is invalid. */
export class ServicesFeed implements ChangeSink<ServiceFacts> {
  readonly #world: World;
  readonly #settings: PolicySettings;
  readonly #logger: Logger;

  constructor(options: {
    readonly world: World;
    readonly settings: PolicySettings;
    readonly logger: Logger;
  }) {
    this.#world = options.world;
    this.#settings = options.settings;
    this.#logger = options.logger;
  }

  changed(changes: readonly Change<ServiceFacts>[]): void {
    const policies = new Map<string, Policy | undefined>();
    for (const change of changes) {
      const policy = change.type === 'DELETED' ? undefined : this.#policyOf(change.facts);
      policies.set(change.key, policy);
    }
    this.#world.setPolicies(policies);
  }

  synced(): void {
    this.#world.setServicesSynced();
  }

  #policyOf(facts: ServiceFacts): Policy {
    const policy = policyFor(describe(facts), this.#settings);
    if (!policy.managed && policy.reason === 'invalid-policy') {
      const service = `${facts.namespace}/${facts.name}`;
      this.#logger.warn(
        { service, rv: facts.resourceVersion, err: policy.message },
        'the annotation topologyKeys is invalid; the Service is unfiltered',
      );
    }
    return policy;
  }
}

function describe(facts: ServiceFacts): ServiceDescription {
  return {
    namespace: facts.namespace,
    name: facts.name,
    topologyKeys: facts.annotations.get(TOPOLOGY_KEYS_ANNOTATION),
    headless: facts.clusterIP === 'None',
    localTraffic:
      facts.internalTrafficPolicy === 'Local' || facts.externalTrafficPolicy === 'Local',
  };
}
