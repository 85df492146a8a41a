import { WrapperError } from '../../errors.ts';
import type { Change, ChangeHandler } from '../../filter/codec/change.ts';
import type { PartialObjectMetadata } from '../../filter/codec/codec.ts';
import type { Policy } from '../../topology/policy/policy.ts';
import {
  assertNamespacePolicy,
  filterOf,
  type NamespacePolicy,
  TOPOLOGY_KEYS_ANNOTATION,
} from '../../topology/policy/service-policy.ts';
import type { PolicyHandlerOptions } from './services-handler.ts';

/**
 * Tells the world the policies that Services take over from their Namespaces, and the log of each annotation of
 * these that is invalid.
 */
export class NamespacesHandler implements ChangeHandler<PartialObjectMetadata> {
  readonly #options: PolicyHandlerOptions;

  constructor(options: PolicyHandlerOptions) {
    this.#options = options;
  }

  onChanges(changes: readonly Change<PartialObjectMetadata>[]): void {
    const { topology, book } = this.#options;
    const policies = new Map<string, Policy | undefined>();
    for (const change of changes) {
      const annotations = change.type === 'DELETED' ? undefined : change.facts.annotations;
      const before = book.namespace(change.key);
      const says = {
        keys: annotations?.get(TOPOLOGY_KEYS_ANNOTATION),
        filter: annotations && filterOf(annotations),
      };
      for (const [service, policy] of book.setNamespace(change.key, says)) {
        policies.set(service, policy);
        this.#reportService(service, policy);
      }
      if (before.keys !== says.keys || before.filter !== says.filter) {
        this.#report(change.key, says);
      }
    }
    topology.setPolicies(policies);
  }

  onSynced(): void {
    this.#options.topology.setSynced('namespaces');
  }

  /** Its Services may not be known yet, so it is looked at by itself. */
  #report(namespace: string, says: NamespacePolicy): void {
    try {
      assertNamespacePolicy(says, this.#options.book.settings);
    } catch (error) {
      this.#options.logger.warn(
        { namespace, err: WrapperError.from(error, 'InvalidPolicy').message },
        'the topology policy of the Namespace is invalid; Services that follow it are unfiltered',
      );
    }
  }

  /** A mistake of its own that counts only now; without an Event, for which nobody remembers the uid. */
  #reportService(service: string, policy: Policy | undefined): void {
    if (policy === undefined || policy.managed || policy.reason !== 'invalid-policy') return;
    if (policy.ofNamespace === true) return;
    this.#options.logger.warn(
      { service, err: policy.message },
      'the topology policy is invalid; the Service is unfiltered',
    );
  }
}
