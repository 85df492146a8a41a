import type { Policy } from '../policy/policy.ts';
import type { OutcomeKind } from './explanation.ts';

/**
 * Why the traffic of a Service fails on this node, or its policy has no effect:
 * - `withoutEndpoints`: there are endpoints, and the policy leaves none
 * - `withoutReady`: the policy leaves none that is ready or serving, although others are
 * - `noneReady`: none is ready or serving, here or elsewhere, so the policy is not the cause
 * - `invalidPolicy`: the policy cannot be read, so all endpoints are shown
 */
export type OutcomeProblem = 'withoutEndpoints' | 'withoutReady' | 'noneReady' | 'invalidPolicy';

/** What a node makes of a Service. Metrics, `/summary` and `status` read it; `simulate` computes the same. */
export interface ServiceOutcome {
  /** `namespace/name`. */
  readonly service: string;
  readonly kind: OutcomeKind;
  /** All endpoints are shown nevertheless; `kept` is what the policy would keep. */
  readonly dryRun: boolean;
  /** Keys that won for any port, sorted. */
  readonly winners: readonly string[];
  /** Number of endpoints. One that is in two slices counts twice. */
  readonly total: number;
  readonly kept: number;
  readonly problem?: OutcomeProblem;
}

/** @param policy in force; undefined: the first policy is pending */
export function outcomeKind(policy: Policy | undefined, isCloudOnly: boolean): OutcomeKind {
  if (policy === undefined) return 'undecided';
  if (policy.managed) return isCloudOnly ? 'withheld' : 'filtered';
  return policy.reason === 'other-proxy' ? 'hidden' : 'unfiltered';
}

/** Whether kube-proxy sees the Service. */
export function isVisible({ kind, dryRun }: Pick<ServiceOutcome, 'kind' | 'dryRun'>): boolean {
  return dryRun || kind === 'filtered' || kind === 'unfiltered';
}

/** What must be the same on a node and in a simulation, as one line. */
export function outcomeLine(outcome: ServiceOutcome): string {
  const { service, kind, winners, kept, total } = outcome;
  // kube-proxy does not see a hidden Service, so its numbers do not matter.
  if (kind === 'hidden' || kind === 'withheld') return `${service} ${kind}`;
  return `${service} ${kind} ${winners.join()} ${kept}/${total}`;
}
