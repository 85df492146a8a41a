import { WrapperError } from '../../errors.ts';
import type { PartialObjectMetadata } from '../../filter/codec/codec.ts';
import type { Change, ChangeHandler } from '../../filter/objects/change.ts';
import type { Policy } from '../../topology/policy/policy.ts';
import {
  assertNamespacePolicy,
  type NamespacePolicy,
  namespacePolicyOf,
} from '../../topology/policy/service-policy.ts';
import type { PolicyHandlerOptions } from './services-handler.ts';

const INVALID =
  'the topology policy of the Namespace is invalid; Services that follow it are unfiltered';

/**
 * Sets in the topology the policies that Services inherit from their Namespaces, and logs invalid annotations of
 * Namespaces.
 */
export class NamespacesHandler implements ChangeHandler<PartialObjectMetadata> {
  readonly #options: PolicyHandlerOptions;

  constructor(options: PolicyHandlerOptions) {
    this.#options = options;
  }

  onChanges(changes: readonly Change<PartialObjectMetadata>[]): void {
    const { topology, policyResolver, policyLog } = this.#options;
    const policies = new Map<string, Policy | undefined>();
    for (const change of changes) {
      const annotated =
        change.type === 'DELETED' ? {} : namespacePolicyOf(change.facts.annotations);
      const before = policyResolver.namespace(change.key);
      const changed = policyResolver.setNamespace(change.key, annotated);
      for (const [service, policy] of changed) policies.set(service, policy);
      this.#report(change.key, before, annotated);
    }
    policyLog.reportServices(topology.policies, policies);
    topology.setPolicies(policies);
  }

  onSynced(): void {
    this.#options.topology.setSynced('namespaces');
  }

  /** Logs what is wrong with a Namespace by itself, because its Services may not be known yet. */
  #report(namespace: string, before: NamespacePolicy, annotated: NamespacePolicy): void {
    const { policyResolver, policyLog } = this.#options;
    policyLog.reportIgnored('Namespace', namespace, annotated, before);
    if (before.keys === annotated.keys && before.filter === annotated.filter) return;
    policyLog.forget(namespace, INVALID);
    try {
      assertNamespacePolicy(annotated, policyResolver.settings);
    } catch (error) {
      policyLog.warn(
        namespace,
        { namespace, err: WrapperError.from(error, 'InvalidPolicy').message },
        INVALID,
      );
    }
  }
}
