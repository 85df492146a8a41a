import { Interner } from '../../util/interner.ts';
import { ignoredAnnotations } from './ignored-annotations.ts';
import { onlyRead, READ_ANNOTATIONS } from './key-sources.ts';
import { type Policy, samePolicy } from './policy.ts';
import {
  isKubernetesService,
  type NamespacePolicy,
  type PolicySettings,
  policyFor,
  type ServiceDescription,
} from './service-policy.ts';

/** Policies that changed, by `namespace/name`; undefined: the Service was deleted. */
export type PolicyChanges = ReadonlyMap<string, Policy | undefined>;

interface ResolvedService {
  /** Only what a policy depends on: a Service may have 256 KB of other annotations. */
  readonly service: ServiceDescription;
  /** Of all its annotations. */
  readonly ignored: ReturnType<typeof ignoredAnnotations>;
  readonly policy: Policy;
}

/**
 * Resolves policies from Services, their Namespaces and the settings. Keeps the Services, so that they follow when the
 * annotations of their Namespace change.
 */
export class PolicyResolver {
  readonly settings: PolicySettings;
  readonly #namespaces = new Map<string, NamespacePolicy>();
  /** Namespace → name → Service. */
  readonly #services = new Map<string, Map<string, ResolvedService>>();
  /** Equal policies share one object: thousands of Services have a few different ones. */
  readonly #policies = new Interner<Policy>();
  /** By what they depend on, which takes less time than to resolve them. */
  readonly #resolved = new Interner<Pick<ResolvedService, 'ignored' | 'policy'>>();
  readonly #hasNamespaces: boolean;

  /** @param namespaces whether policies depend on Namespaces; if not, no Services are kept */
  constructor(settings: PolicySettings, namespaces = true) {
    this.settings = settings;
    this.#hasNamespaces = namespaces;
  }

  /** Takes a Service that was added or changed. Returns its policy. */
  setService(service: ServiceDescription): Policy {
    const { namespace, name } = service;
    const ofNamespace = this.namespace(namespace);
    const resolved = this.#resolved.intern(this.#inputsOf(service, ofNamespace), () => {
      const ignored = ignoredAnnotations(service.annotations);
      const policy = policyFor(service, this.settings, ofNamespace, ignored);
      return { ignored, policy: this.#shared(policy) };
    });
    if (this.#hasNamespaces) {
      const services = this.#services.get(namespace) ?? new Map<string, ResolvedService>();
      services.set(name, { service: this.#onlyRead(service), ...resolved });
      this.#services.set(namespace, services);
    }
    return resolved.policy;
  }

  /** Removes a Service, by `namespace/name`. */
  deleteService(key: string): void {
    const [namespace = '', name = ''] = key.split('/');
    const services = this.#services.get(namespace);
    services?.delete(name);
    if (services?.size === 0) this.#services.delete(namespace);
  }

  /** The annotations of a Namespace. */
  namespace(namespace: string): NamespacePolicy {
    return this.#namespaces.get(namespace) ?? {};
  }

  /** Takes the annotations of a Namespace; without fields, it has none. Returns the policies that changed. */
  setNamespace(namespace: string, next: NamespacePolicy): PolicyChanges {
    const before = this.namespace(namespace);
    const { keys, filter, ignored } = next;
    if ((keys ?? filter ?? ignored) === undefined) this.#namespaces.delete(namespace);
    else this.#namespaces.set(namespace, next);
    const changed = new Map<string, Policy>();
    if (before.keys === keys && before.filter === filter) return changed;
    const services = this.#services.get(namespace) ?? new Map<string, ResolvedService>();
    for (const [name, { service, ignored: own, policy }] of services) {
      const following = this.#shared(policyFor(service, this.settings, next, own));
      if (samePolicy(policy, following)) continue;
      services.set(name, { service, ignored: own, policy: following });
      changed.set(`${namespace}/${name}`, following);
    }
    return changed;
  }

  #shared(policy: Policy): Policy {
    return policy.managed ? this.#policies.intern(JSON.stringify(policy), () => policy) : policy;
  }

  /** All that the policy of a Service depends on, besides the settings: of annotations that are not read, the names. */
  #inputsOf(service: ServiceDescription, ofNamespace: NamespacePolicy): string {
    const { namespace, name, labels, annotations, ...rest } = service;
    const { serviceFilter, relayService } = this.settings;
    const ofRelays = `${namespace}/${name}` === relayService;
    const hasLabel = serviceFilter && labels.has(serviceFilter.label);
    const inputs: unknown[] = [rest, ofNamespace, isKubernetesService(service), ofRelays, hasLabel];
    for (const [annotation, value] of annotations) {
      inputs.push(annotation);
      if (READ_ANNOTATIONS.includes(annotation)) inputs.push(value);
    }
    return JSON.stringify(inputs);
  }

  #onlyRead(service: ServiceDescription): ServiceDescription {
    const { label } = this.settings.serviceFilter ?? {};
    const value = label === undefined ? undefined : service.labels.get(label);
    const labels = new Map(label === undefined || value === undefined ? [] : [[label, value]]);
    return { ...service, labels, annotations: onlyRead(service.annotations) };
  }
}
