import type { Policy } from '../policy/policy.ts';

/** All that decides whether clients of this node see a Service. */
export interface ServiceKnowledge {
  /** Filtering is switched off on this node. */
  readonly nodeOff: boolean;
  /** The settings leave it to another proxy, by the labels that the view at hand has. */
  readonly ofOtherProxy: boolean;
  /** In force; undefined: its first policy is still pending. */
  readonly policy: Policy | undefined;
  /** What is to come into force, or is. */
  readonly wanted: Policy;
  /** All its traffic goes to the cloud, to which its address is routed. */
  readonly cloudOnly: boolean;
}

/**
 * Why a Service and its endpoints are hidden:
 * - `waiting`: its first policy is still pending
 * - `hidden`: another proxy serves it
 * - `withheld`: all its traffic goes to the cloud
 */
export type HiddenReason = 'waiting' | 'hidden' | 'withheld';

/** Why a Service is hidden from the clients of this node; undefined: it is shown. Pure. */
export function whyHidden(known: ServiceKnowledge): HiddenReason | undefined {
  if (known.nodeOff) return undefined;
  // The topology may be ahead of this view: a Service comes back when its own label says so too.
  if (known.ofOtherProxy) return 'hidden';
  const { policy, wanted, cloudOnly } = known;
  if ((policy ?? wanted).dryRun === true) return undefined;
  if (policy === undefined) return 'waiting';
  if (!policy.managed) return policy.reason === 'other-proxy' ? 'hidden' : undefined;
  return cloudOnly ? 'withheld' : undefined;
}
