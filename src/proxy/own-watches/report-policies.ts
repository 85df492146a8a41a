import type { Policy } from '../../topology/policy/policy.ts';
import type { PolicyStates } from '../../topology/state/policy-states.ts';
import type { PolicyLog } from './policy-log.ts';

/** Logs what is wrong with the policies of Services, once each. Call it before they are set. */
export function reportPolicies(
  known: PolicyStates,
  policies: ReadonlyMap<string, Policy | undefined>,
  log: PolicyLog,
): void {
  for (const [service, policy] of policies) {
    if (policy !== undefined) report(service, known.pendingOrActive(service), policy, log);
  }
}

/** Other changes of the Service, for example of its status, do not repeat a line. */
function report(service: string, before: Policy, policy: Policy, log: PolicyLog): void {
  const namespace = service.slice(0, service.indexOf('/'));
  const { ignored } = policy;
  if (ignored !== undefined && ignored.join() !== before.ignored?.join()) {
    const err = ignored.join('; ');
    log.warn(namespace, { service, err }, 'annotations of the Service have no effect');
  }
  // An error in a Namespace is reported once, for the Namespace.
  if (policy.managed || policy.reason !== 'invalid-policy' || policy.ofNamespace === true) return;
  if (!before.managed && before.message === policy.message) return;
  const text = 'the topology policy is invalid; the Service is unfiltered';
  log.warn(namespace, { service, err: policy.message }, text);
}
