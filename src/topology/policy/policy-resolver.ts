import { type Policy, samePolicy } from './policy.ts';
import {
  followsNamespace,
  type NamespacePolicy,
  type PolicySettings,
  policyFor,
  type ServiceDescription,
} from './service-policy.ts';

/** Policies that changed, as `namespace/name`; undefined: the Service is gone. */
export type PolicyChanges = ReadonlyMap<string, Policy | undefined>;

/**
 * Puts together what Services, their Namespaces and the settings say. Remembers the Services whose policy
 * may come from their Namespace, so that they follow when its annotation changes.
 */
export class PolicyResolver {
  readonly settings: PolicySettings;
  readonly #namespaces = new Map<string, NamespacePolicy>();
  /** Namespace → name → Service that follows it. */
  readonly #followers = new Map<string, Map<string, ServiceDescription>>();
  /** Equal policies are kept once: thousands of Services share a few. */
  readonly #policies = new Map<string, Policy>();

  readonly #hasNamespaces: boolean;

  /** @param namespaces whether Namespaces have a say; if not, no Service is remembered for their sake */
  constructor(settings: PolicySettings, namespaces = true) {
    this.settings = settings;
    this.#hasNamespaces = namespaces;
  }

  /** Notes a Service that was seen or changed; returns its policy. */
  setService(service: ServiceDescription): Policy {
    const { namespace, name } = service;
    if (this.#hasNamespaces && followsNamespace(service, this.settings)) {
      const followers = this.#followers.get(namespace) ?? new Map<string, ServiceDescription>();
      this.#followers.set(namespace, followers.set(name, service));
    } else {
      this.#forget(namespace, name);
    }
    return this.#policyOf(service);
  }

  /** Forgets a Service, as `namespace/name`. */
  deleteService(key: string): void {
    const slash = key.indexOf('/');
    this.#forget(key.slice(0, slash), key.slice(slash + 1));
  }

  /** What the annotations of a Namespace say. */
  namespace(namespace: string): NamespacePolicy {
    return this.#namespaces.get(namespace) ?? {};
  }

  /** Notes the annotations of a Namespace, or (no fields) that it has none; returns what follows. */
  setNamespace(namespace: string, says: NamespacePolicy): PolicyChanges {
    const before = this.namespace(namespace);
    if (before.keys === says.keys && before.filter === says.filter) return new Map();
    const followers = [...(this.#followers.get(namespace)?.values() ?? [])];
    const policies = followers.map((service) => this.#policyOf(service));
    if (says.keys === undefined && says.filter === undefined) this.#namespaces.delete(namespace);
    else this.#namespaces.set(namespace, says);
    const changed = new Map<string, Policy>();
    followers.forEach((service, index) => {
      const policy = this.#policyOf(service);
      if (samePolicy(policies[index] ?? policy, policy)) return;
      changed.set(`${namespace}/${service.name}`, policy);
    });
    return changed;
  }

  #policyOf(service: ServiceDescription): Policy {
    const policy = policyFor(service, this.settings, this.namespace(service.namespace));
    if (!policy.managed) return policy;
    const id = JSON.stringify(policy);
    const known = this.#policies.get(id);
    if (known !== undefined) return known;
    // Different ones are few; starting over when they are not costs little.
    if (this.#policies.size >= 10_000) this.#policies.clear();
    this.#policies.set(id, policy);
    return policy;
  }

  #forget(namespace: string, name: string): void {
    const followers = this.#followers.get(namespace);
    followers?.delete(name);
    if (followers?.size === 0) this.#followers.delete(namespace);
  }
}
