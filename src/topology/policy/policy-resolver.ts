import { type Policy, samePolicy } from './policy.ts';
import {
  followsNamespace,
  type NamespacePolicy,
  type PolicySettings,
  policyFor,
  type ServiceDescription,
} from './service-policy.ts';

/** Policies that changed, by `namespace/name`; undefined: the Service was deleted. */
export type PolicyChanges = ReadonlyMap<string, Policy | undefined>;

/**
 * Resolves policies from Services, their Namespaces and the settings. Keeps the Services whose policy may come from
 * their Namespace, so that they follow when its annotations change.
 */
export class PolicyResolver {
  readonly settings: PolicySettings;
  readonly #namespaces = new Map<string, NamespacePolicy>();
  /** Namespace → name → Service that follows it. */
  readonly #followers = new Map<string, Map<string, ServiceDescription>>();
  /** Equal policies share one object: thousands of Services have a few different ones. */
  readonly #policies = new Map<string, Policy>();

  readonly #hasNamespaces: boolean;

  /** @param namespaces whether policies depend on Namespaces; if not, no Services are kept */
  constructor(settings: PolicySettings, namespaces = true) {
    this.settings = settings;
    this.#hasNamespaces = namespaces;
  }

  /** Takes a Service that was added or changed. Returns its policy. */
  setService(service: ServiceDescription): Policy {
    const { namespace, name } = service;
    if (this.#hasNamespaces && followsNamespace(service, this.settings)) {
      const followers = this.#followers.get(namespace) ?? new Map<string, ServiceDescription>();
      this.#followers.set(namespace, followers.set(name, service));
    } else {
      this.#unfollow(namespace, name);
    }
    return this.#policyOf(service);
  }

  /** Removes a Service, by `namespace/name`. */
  deleteService(key: string): void {
    const slash = key.indexOf('/');
    this.#unfollow(key.slice(0, slash), key.slice(slash + 1));
  }

  /** The annotations of a Namespace. */
  namespace(namespace: string): NamespacePolicy {
    return this.#namespaces.get(namespace) ?? {};
  }

  /** Takes the annotations of a Namespace; without fields, it has none. Returns the policies that changed. */
  setNamespace(namespace: string, next: NamespacePolicy): PolicyChanges {
    const before = this.namespace(namespace);
    const isSame = before.keys === next.keys && before.filter === next.filter;
    const followers = isSame ? [] : [...(this.#followers.get(namespace)?.values() ?? [])];
    const policies = followers.map((service) => this.#policyOf(service));
    const { keys, filter, ignored } = next;
    if ((keys ?? filter ?? ignored) === undefined) this.#namespaces.delete(namespace);
    else this.#namespaces.set(namespace, next);
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
    const shared = this.#policies.get(id);
    if (shared !== undefined) return shared;
    // A safeguard: there are rarely this many different policies.
    if (this.#policies.size >= 10_000) this.#policies.clear();
    this.#policies.set(id, policy);
    return policy;
  }

  #unfollow(namespace: string, name: string): void {
    const followers = this.#followers.get(namespace);
    followers?.delete(name);
    if (followers?.size === 0) this.#followers.delete(namespace);
  }
}
