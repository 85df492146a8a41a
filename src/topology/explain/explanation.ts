import type { EndpointState } from '../decide/endpoint.ts';
import type { PolicySource, UnmanagedReason } from '../policy/policy.ts';

/** Why a Service looks on this node as it does. Plain data: it is served as JSON as it is. */
export interface ServiceExplanation {
  /** `namespace/name`. */
  readonly service: string;
  /** Name of this node. */
  readonly node: string;
  readonly policy: PolicyExplanation;
  readonly outcome: OutcomeExplanation;
  /** When the present answer came into force, ISO 8601; undefined: nothing was decided yet. */
  readonly since?: string;
  /** What each key of the policy stands for on this node, in order of preference. */
  readonly keys: readonly KeyExplanation[];
  /** Keys that won for any port, each once. */
  readonly winners: readonly string[];
  /** One entry for each address family and port; of too many, those that are in trouble first. */
  readonly ports: readonly PortExplanation[];
  /** Families and ports that are not listed, for there are too many. */
  readonly omittedPorts: number;
  /** Those that are kept first. */
  readonly endpoints: readonly EndpointExplanation[];
  /** Endpoints that are counted, but not listed, for there are too many. */
  readonly omitted: number;
  readonly counts: EndpointCounts;
  readonly warnings: readonly Warning[];
}

/** Numbers of endpoints. Of a dry run, those that would be kept. */
export interface EndpointCounts {
  readonly total: number;
  readonly kept: number;
  readonly leftOut: number;
}

/** What applies to a Service and who says so. */
export interface PolicyExplanation {
  /** Whether the policy selects endpoints. */
  readonly managed: boolean;
  readonly source?: PolicySource;
  /** Name of the preset that the keys were chosen by. */
  readonly preset?: string;
  readonly keys?: readonly string[];
  /** Ready endpoints that each key needs; absent: one. */
  readonly minReady?: readonly number[];
  readonly returnDelaySeconds?: number;
  /** Why the Service is left alone. */
  readonly reason?: UnmanagedReason;
  /** What is wrong with the policy, and how to mend it. */
  readonly message?: string;
  /** What would apply if this policy were not there, the nearest first. */
  readonly overrides: readonly PolicyOrigin[];
}

/** A place that says which keys apply to a Service. */
export interface PolicyOrigin {
  readonly source: PolicySource;
  readonly preset?: string;
  /** Empty: no constraint. */
  readonly keys: readonly string[];
  /** What is wrong with it; then it has no keys. */
  readonly invalid?: string;
}

/**
 * - `filtered`: a policy selects the endpoints that are shown
 * - `unfiltered`: all are shown
 * - `hidden`: the Service is not shown, for another proxy serves it
 * - `withheld`: the Service is not shown, for all its traffic goes to the cloud
 * - `undecided`: its policy waits for node sets; what was shown before stands, but nothing where it is the first
 */
export type OutcomeKind = 'filtered' | 'unfiltered' | 'hidden' | 'withheld' | 'undecided';

export interface OutcomeExplanation {
  readonly kind: OutcomeKind;
  /** A sentence for an operator. */
  readonly text: string;
  /** Everything is served unfiltered all the same; `kind` is what would be. */
  readonly dryRun: boolean;
  /** Label selectors of the node sets that are waited for. */
  readonly waitsFor: readonly string[];
}

/** What a key stands for on this node. */
export interface KeyExplanation {
  readonly key: string;
  /** In words, e.g. `nodes with site=a`. */
  readonly meaning: string;
  /** Whether an endpoint on this node matches. */
  readonly matchesThisNode: boolean;
  /** Nodes known to match, this one included; undefined: no number is known, nor needed. */
  readonly nodes?: number;
}

export interface PortExplanation {
  readonly family: string;
  /** `<protocol>/<name>`; empty for endpoints without ports. */
  readonly port: string;
  readonly keys: readonly KeyCounts[];
  /** The key that won; undefined: none did. */
  readonly winner?: string;
  /** Why, in words. */
  readonly why: string;
  /** A nearer key that is ready, but not for long enough yet. */
  readonly returning?: { readonly key: string; readonly at: string };
  /** What would win if the endpoints of the winner went away; undefined: nothing would. */
  readonly next?: string;
}

/** Endpoints of one family and port that a key matches, whatever other keys do. */
export interface KeyCounts {
  readonly key: string;
  readonly ready: number;
  readonly serving: number;
  readonly total: number;
  /** Ready ones it needs to count. */
  readonly needs: number;
}

export interface EndpointExplanation {
  /** First of its addresses; all addresses of an endpoint are the same to kube-proxy, which uses this one. */
  readonly address: string;
  readonly node: string;
  readonly zone: string;
  readonly state: EndpointState;
  /** Name of the EndpointSlice or Endpoints object. */
  readonly object: string;
  readonly kept: boolean;
  readonly reason: string;
}

/** Something an operator may want to know. */
export interface Warning {
  /** Stable, for machines. */
  readonly code: WarningCode;
  /** `info`: as intended, but worth knowing; `warning`: probably a mistake. */
  readonly severity: 'info' | 'warning';
  readonly message: string;
}

export type WarningCode =
  | 'invalid-policy'
  | 'policy-without-effect'
  | 'default-overridden'
  | 'own-label-missing'
  | 'no-other-node'
  | 'key-without-nodes'
  | 'community-empty'
  | 'node-set-refused'
  | 'nothing-matches'
  | 'no-endpoints'
  | 'too-few-ready'
  | 'min-ready-without-key'
  | 'none-ready'
  | 'endpoint-without-node'
  | 'hints-cut'
  | 'change-pending'
  | 'dry-run';
