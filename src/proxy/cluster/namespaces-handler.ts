import { WrapperError } from '../../errors.ts';
import type { Change, ChangeHandler } from '../../filter/codec/change.ts';
import type { PartialObjectMetadata } from '../../filter/codec/codec.ts';
import type { Policy } from '../../topology/policy/policy.ts';
import {
  assertNamespacePolicy,
  type NamespacePolicy,
  namespacePolicyOf,
} from '../../topology/policy/service-policy.ts';
import type { PolicyHandlerOptions } from './services-handler.ts';

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
    const { topology, policyResolver } = this.#options;
    const policies = new Map<string, Policy | undefined>();
    for (const change of changes) {
      const annotated =
        change.type === 'DELETED' ? {} : namespacePolicyOf(change.facts.annotations);
      const before = policyResolver.namespace(change.key);
      for (const [service, policy] of policyResolver.setNamespace(change.key, annotated)) {
        policies.set(service, policy);
        this.#reportService(service, policy);
      }
      if (before.keys !== annotated.keys || before.filter !== annotated.filter) {
        this.#report(change.key, annotated);
      }
      this.#reportIgnored(change.key, before, annotated);
    }
    topology.setPolicies(policies);
  }

  onSynced(): void {
    this.#options.topology.setSynced('namespaces');
  }

  /** Checks a Namespace by itself, because its Services may not be known yet. */
  #report(namespace: string, annotated: NamespacePolicy): void {
    try {
      assertNamespacePolicy(annotated, this.#options.policyResolver.settings);
    } catch (error) {
      this.#options.logger.warn(
        { namespace, err: WrapperError.from(error, 'InvalidPolicy').message },
        'the topology policy of the Namespace is invalid; Services that follow it are unfiltered',
      );
    }
  }

  /** Logs annotations without effect when they appear. */
  #reportIgnored(namespace: string, before: NamespacePolicy, { ignored }: NamespacePolicy): void {
    if (ignored === undefined || ignored.join() === before.ignored?.join()) return;
    this.#options.logger.warn(
      { namespace, err: ignored.join('; ') },
      'annotations of the Namespace have no effect',
    );
  }

  /** Reports an error in a Service that takes effect only now. Writes no Event, because its uid is not known here. */
  #reportService(service: string, policy: Policy | undefined): void {
    if (policy === undefined || policy.managed || policy.reason !== 'invalid-policy') return;
    if (policy.ofNamespace === true) return;
    this.#options.logger.warn(
      { service, err: policy.message },
      'the topology policy is invalid; the Service is unfiltered',
    );
  }
}
