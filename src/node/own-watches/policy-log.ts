import { type Policy, UNKNOWN_SERVICE } from '../../topology/policy/policy.ts';
import type { PolicyStates } from '../../topology/state/policy-states.ts';
import { LogShares } from '../../util/log-shares.ts';

type Ignored = Pick<Policy, 'ignored'>;

/** Logs what is wrong with annotations of Services and Namespaces. */
export class PolicyLog extends LogShares {
  /** Logs what is wrong with the policies of Services, once each. Call it before they are set. */
  reportServices(known: PolicyStates, policies: ReadonlyMap<string, Policy | undefined>): void {
    for (const [service, policy = UNKNOWN_SERVICE] of policies) {
      this.#report(service, known.pendingOrActive(service), policy);
    }
  }

  /** Logs annotations without effect, unless they were the same before. */
  reportIgnored(of: 'Service' | 'Namespace', key: string, now: Ignored, before: Ignored): void {
    if (now.ignored?.join() === before.ignored?.join()) return;
    const text = `annotations of the ${of} have no effect`;
    if (before.ignored !== undefined) this.forget(key, text);
    if (now.ignored === undefined) return;
    this.warn(key, { [of.toLowerCase()]: key, err: now.ignored.join('; ') }, text);
  }

  /** @param key of the Namespace, or of an object in it */
  warn(key: string, fields: object, text: string): void {
    this.ofNamespace(key).warn(fields, text, `${key} ${text}`);
  }

  /** What {@link warn} was called with is no longer true: a line that waits for room would be wrong. */
  forget(key: string, text: string): void {
    this.ofNamespace(key).forget(`${key} ${text}`);
  }

  /** Other changes of the Service, for example of its status, do not repeat a line. */
  #report(service: string, before: Policy, policy: Policy): void {
    this.reportIgnored('Service', service, policy, before);
    const [last, now] = [errorOf(before), errorOf(policy)];
    if (now === last) return;
    const text = 'the topology policy is invalid; the Service is unfiltered';
    if (last !== undefined) this.forget(service, text);
    if (now !== undefined) this.warn(service, { service, err: now }, text);
  }
}

/** Why a policy is invalid. An error in a Namespace is reported once, for the Namespace. */
function errorOf(policy: Policy): string | undefined {
  const isOwn =
    !policy.managed && policy.reason === 'invalid-policy' && policy.ofNamespace !== true;
  return isOwn ? policy.message : undefined;
}
