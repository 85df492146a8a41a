import type { ServiceOutcome } from '../../topology/state/service-outcome.ts';
import type { Topology } from '../../topology/state/topology.ts';
import type { ExplainedObject } from './explain-endpoints.ts';
import type { PolicyOrigin } from './explanation.ts';

export interface ExplainInput {
  readonly topology: Topology;
  /** What was decided. */
  readonly outcome: ServiceOutcome;
  readonly objects: readonly ExplainedObject[];
  /** See policyOrigins. */
  readonly origins: readonly PolicyOrigin[];
  /** Whether the Service has a selector, so that a controller writes its slices. */
  readonly hasSelector: boolean;
  /** Whether a slice has the name of the Service, and no label with it; default: none. */
  readonly isUnlabelled?: boolean;
  /** Since when the same keys have been winning; undefined: not decided yet. */
  readonly since: Date | undefined;
  readonly limits: ExplainLimits;
}

/** What is listed at most; the rest is only counted. */
export interface ExplainLimits {
  /** Endpoints; those that are kept come first. */
  readonly endpoints: number;
  /** Families and ports; those with problems come first. */
  readonly ports: number;
}
