import { Interner } from '../../util/interner.ts';
import { onlyRead } from './key-sources.ts';
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

/** A Service whose policy may come from its Namespace. */
interface Follower {
  /** Only what a policy depends on: a Service may have 256 KB of other annotations. */
  readonly service: ServiceDescription;
  readonly ignored: Policy['ignored'];
}

/**
 * Resolves policies from Services, their Namespaces and the settings. Keeps the Services whose policy may come from
 * their Namespace, so that they follow when its annotations change.
 */
export class PolicyResolver {
  readonly settings: PolicySettings;
  readonly #namespaces = new Map<string, NamespacePolicy>();
  /** Namespace → name → Service that follows it. */
  readonly #followers = new Map<string, Map<string, Follower>>();
  /** Equal policies share one object: thousands of Services have a few different ones. */
  readonly #policies = new Interner<Policy>();
  readonly #hasNamespaces: boolean;

  /** @param namespaces whether policies depend on Namespaces; if not, no Services are kept */
  constructor(settings: PolicySettings, namespaces = true) {
    this.settings = settings;
    this.#hasNamespaces = namespaces;
  }

  /** Takes a Service that was added or changed. Returns its policy. */
  setService(service: ServiceDescription): Policy {
    const { namespace, name } = service;
    const policy = policyFor(service, this.settings, this.namespace(namespace));
    if (this.#hasNamespaces && followsNamespace(service, this.settings)) {
      const followers = this.#followers.get(namespace) ?? new Map<string, Follower>();
      const follower = { service: this.#onlyRead(service), ignored: policy.ignored };
      this.#followers.set(namespace, followers.set(name, follower));
    } else {
      this.#unfollow(namespace, name);
    }
    return this.#shared(policy);
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
    const policies = followers.map((follower) => this.#policyOf(follower));
    const { keys, filter, ignored } = next;
    if ((keys ?? filter ?? ignored) === undefined) this.#namespaces.delete(namespace);
    else this.#namespaces.set(namespace, next);
    const changed = new Map<string, Policy>();
    followers.forEach((follower, index) => {
      const policy = this.#policyOf(follower);
      if (samePolicy(policies[index] ?? policy, policy)) return;
      changed.set(`${namespace}/${follower.service.name}`, policy);
    });
    return changed;
  }

  #policyOf({ service, ignored }: Follower): Policy {
    const policy = policyFor(service, this.settings, this.namespace(service.namespace));
    return this.#shared({ ...policy, ignored });
  }

  #shared(policy: Policy): Policy {
    return policy.managed ? this.#policies.of(JSON.stringify(policy), () => policy) : policy;
  }

  #onlyRead(service: ServiceDescription): ServiceDescription {
    const { label } = this.settings.serviceFilter ?? {};
    const value = label === undefined ? undefined : service.labels.get(label);
    const labels = new Map(label === undefined || value === undefined ? [] : [[label, value]]);
    return { ...service, labels, annotations: onlyRead(service.annotations) };
  }

  #unfollow(namespace: string, name: string): void {
    const followers = this.#followers.get(namespace);
    followers?.delete(name);
    if (followers?.size === 0) this.#followers.delete(namespace);
  }
}
