import type { EndpointState } from '../../topology/decide/endpoint.ts';
import type { PolicySource, UnmanagedReason } from '../../topology/policy/policy.ts';
import type { OutcomeKind } from '../../topology/state/service-outcome.ts';
import type { Problem } from '../catalogue.ts';

/** How this node decides about a Service, and why. Plain data that is served as JSON. */
export interface ServiceExplanation {
  /** `namespace/name`. */
  readonly service: string;
  /** Name of this node. */
  readonly node: string;
  readonly policy: PolicyExplanation;
  readonly outcome: OutcomeExplanation;
  /** Since when the same keys have been winning, ISO 8601; undefined: not decided yet. */
  readonly since?: string;
  /** What each key of the policy matches on this node, in order of preference. */
  readonly keys: readonly KeyExplanation[];
  /** Keys that won for any port, sorted. */
  readonly winners: readonly string[];
  /** One entry for each address family and port; if there are too many, those with problems come first. */
  readonly ports: readonly PortExplanation[];
  /** Number of families and ports that are not listed, because there are too many. */
  readonly omittedPorts: number;
  /** Those that are kept come first. */
  readonly endpoints: readonly EndpointExplanation[];
  /** Number of endpoints that are not listed, because there are too many. */
  readonly omitted: number;
  readonly counts: EndpointCounts;
  readonly warnings: readonly Problem[];
}

/** Numbers of endpoints, see ServiceOutcome.total; in a dry run, `kept` are those that would be kept. */
export interface EndpointCounts {
  readonly total: number;
  readonly kept: number;
  /** How many of the kept ones are ready. */
  readonly ready: number;
  readonly leftOut: number;
}

/** What applies to a Service, and where it comes from. */
export interface PolicyExplanation {
  /** Whether the policy selects endpoints. */
  readonly managed: boolean;
  readonly source?: PolicySource;
  /** Name of the preset that the keys come from. */
  readonly preset?: string;
  readonly keys?: readonly string[];
  /** Ready endpoints that each key needs; absent: one. */
  readonly minReady?: readonly number[];
  /** Why the Service is not filtered. */
  readonly reason?: UnmanagedReason;
  /** What is wrong with the policy, and how to correct it. */
  readonly message?: string;
  /** What would apply without this policy, the nearest first. */
  readonly overrides: readonly PolicyOrigin[];
}

/** A source of topology keys for a Service. */
export interface PolicyOrigin {
  readonly source: PolicySource;
  readonly preset?: string;
  /** Empty: no constraint. */
  readonly keys: readonly string[];
  /** What is wrong with it; then `keys` is empty. */
  readonly invalid?: string;
}

export interface OutcomeExplanation {
  readonly kind: OutcomeKind;
  /** A sentence for an operator. */
  readonly text: string;
  /** The Service is not filtered nevertheless; `kind` is what the policy would do. */
  readonly dryRun: boolean;
  /** Label selectors of the node sets that the Service waits for. */
  readonly waitsFor: readonly string[];
}

/** What a key matches on this node. */
export interface KeyExplanation {
  readonly key: string;
  /** In words, e.g. `nodes with site=a`. */
  readonly meaning: string;
  /** Whether an endpoint on this node matches. */
  readonly matchesThisNode: boolean;
  /** Number of nodes known to match, including this one; undefined: not known, or not needed. */
  readonly nodes?: number;
}

export interface PortExplanation {
  readonly family: string;
  /** `<protocol>/<name>`; empty for endpoints without ports. */
  readonly port: string;
  /** No endpoint has this port of the Service. */
  readonly without?: true | undefined;
  readonly keys: readonly KeyCounts[];
  /** The key that won; undefined: no key did. */
  readonly winner?: string;
  /** Why, in words. */
  readonly why: string;
  /** The key that would win without the endpoints of the winner; undefined: no key would. */
  readonly next?: string;
}

/** Numbers of endpoints of one family and port that a key matches, whatever other keys match. */
export interface KeyCounts {
  readonly key: string;
  readonly ready: number;
  /** Not ready, but serving while they terminate. */
  readonly serving: number;
  readonly total: number;
  /** Ready endpoints that it needs to count. */
  readonly needs: number;
}

export interface EndpointExplanation {
  /** First of its addresses, the one that kube-proxy uses. */
  readonly address: string;
  readonly node: string;
  readonly zone: string;
  readonly state: EndpointState;
  /** Name of the EndpointSlice or Endpoints object. */
  readonly object: string;
  readonly kept: boolean;
  readonly reason: string;
}
