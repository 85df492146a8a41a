import type { Policy } from '../policy/policy.ts';

/** Everything that decides whether clients of this node see a Service. */
export interface VisibilityInput {
  /** Filtering is switched off on this node. */
  readonly nodeOff: boolean;
  /** The settings leave the Service to another proxy, by the labels that the calling view has. */
  readonly ofOtherProxy: boolean;
  /** In force; undefined: the first policy of the Service is pending. */
  readonly policy: Policy | undefined;
  /** The latest one, in force or pending. */
  readonly wanted: Policy;
  /** All traffic of the Service goes to the cloud, to which its address is routed. */
  readonly cloudOnly: boolean;
}

/**
 * Why a Service and its endpoints are hidden:
 * - `waiting`: its first policy is pending
 * - `hidden`: another proxy serves it
 * - `withheld`: all its traffic goes to the cloud; `explain` and the decision journal use the same word
 */
export type HiddenReason = 'waiting' | 'hidden' | 'withheld';

/** Why a Service is hidden from the clients of this node; undefined: it is visible. Pure. */
export function whyHidden(input: VisibilityInput): HiddenReason | undefined {
  if (input.nodeOff) return undefined;
  // The topology may be newer than the view. A Service appears only once the view has its new labels too.
  if (input.ofOtherProxy) return 'hidden';
  const { policy, wanted, cloudOnly } = input;
  if ((policy ?? wanted).dryRun === true) return undefined;
  if (policy === undefined) return 'waiting';
  if (!policy.managed) return policy.reason === 'other-proxy' ? 'hidden' : undefined;
  return cloudOnly ? 'withheld' : undefined;
}
