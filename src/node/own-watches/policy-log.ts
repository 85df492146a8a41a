import type { Policy } from '../../topology/policy/policy.ts';
import type { PolicyStates } from '../../topology/state/policy-states.ts';
import { LogShares } from '../../util/log-shares.ts';

type Ignored = Pick<Policy, 'ignored'>;

/** Logs what is wrong with annotations of Services and Namespaces. */
export class PolicyLog extends LogShares {
  /** Logs what is wrong with the policies of Services, once each. Call it before they are set. */
  reportServices(known: PolicyStates, policies: ReadonlyMap<string, Policy | undefined>): void {
    for (const [service, policy] of policies) {
      if (policy !== undefined) this.#report(service, known.pendingOrActive(service), policy);
    }
  }

  /** Logs annotations without effect, unless they were the same before. */
  reportIgnored(of: 'Service' | 'Namespace', key: string, now: Ignored, before: Ignored): void {
    if (now.ignored === undefined || now.ignored.join() === before.ignored?.join()) return;
    const fields = { [of.toLowerCase()]: key, err: now.ignored.join('; ') };
    this.warn(key, fields, `annotations of the ${of} have no effect`);
  }

  /** @param key of the Namespace, or of an object in it */
  warn(key: string, fields: object, text: string): void {
    this.ofNamespace(key).warn(fields, text);
  }

  /** Other changes of the Service, for example of its status, do not repeat a line. */
  #report(service: string, before: Policy, policy: Policy): void {
    this.reportIgnored('Service', service, policy, before);
    // An error in a Namespace is reported once, for the Namespace.
    if (policy.managed || policy.reason !== 'invalid-policy' || policy.ofNamespace === true) return;
    if (!before.managed && before.message === policy.message) return;
    const text = 'the topology policy is invalid; the Service is unfiltered';
    this.warn(service, { service, err: policy.message }, text);
  }
}
