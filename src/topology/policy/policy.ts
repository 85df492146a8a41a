/** Why a Service is not filtered. */
export type UnmanagedReason =
  | 'no-policy'
  | 'headless'
  /** Its `internalTrafficPolicy` is Local. */
  | 'local-traffic-policy'
  | 'kubernetes-service'
  | 'unknown-service'
  /** Nobody uses its endpoints, see readerOf. */
  | 'not-read'
  | 'invalid-policy'
  /** The Service has its own `spec.trafficDistribution`; kube-proxy follows the hints. */
  | 'traffic-distribution'
  /** The same, by its annotation `service.kubernetes.io/topology-mode`. */
  | 'topology-mode'
  /** An annotation of the Service switches filtering off. */
  | 'service-off'
  /** An annotation of this node switches filtering off. */
  | 'node-off'
  /** The policy applies to edge nodes, and this node is a cloud node. */
  | 'cloud-node'
  /** A node set that the policy needs has no room (`maxNodeSets`). */
  | 'node-set-limit'
  /** It has more ports or endpoints than a decision may take, see decide. */
  | 'service-too-large'
  /** Another proxy serves the Service on this node: it is hidden. */
  | 'other-proxy';

/** Where the keys of a policy come from. */
export type PolicySource =
  | 'annotation'
  | 'openyurt'
  | 'kubeedge'
  | HintsSource
  | 'namespace'
  | 'default';

/** How a Service requests topology hints from Kubernetes itself. */
export type HintsSource = 'traffic-distribution' | 'topology-mode';

/** What applies to one Service. */
export type Policy = (
  | {
      readonly managed: true;
      /** In order of preference, at least one. */
      readonly keys: readonly string[];
      readonly source: PolicySource;
      readonly edgeOnly?: true;
      /**
       * The endpoints on this node are kept in addition (`externalTrafficPolicy: Local`): kube-proxy needs them for
       * external traffic and its health check.
       */
      readonly keepsLocal?: true;
      /** The Service is headless: only DNS servers read its endpoints. */
      readonly headless?: true;
      /** The endpoints are relays: where it leaves none, nodes read from the API server, and nothing fails. */
      readonly ofRelays?: true;
      /** Ready endpoints that each key needs to count, in the order of the keys; absent: one. */
      readonly minReady?: readonly number[];
      /** Keys in the annotation min-ready that are not among `keys`, the first ones; absent: none. */
      readonly unusedMinReady?: readonly string[];
      /** How many there are besides these; absent: none. */
      readonly moreUnusedMinReady?: number;
      /** The Service is decided, but all its endpoints are shown. */
      readonly dryRun?: true;
    }
  | {
      readonly managed: false;
      readonly reason: UnmanagedReason;
      /** As above; only for `other-proxy`, the only reason that hides anything. */
      readonly dryRun?: true;
      /** What is wrong and how to correct it; only for `invalid-policy`. */
      readonly message?: string;
      /** The error is in an annotation of the Namespace; only for `invalid-policy`. */
      readonly ofNamespace?: true;
    }
) & {
  /** Annotations of the Service without effect, and why; absent: none. */
  readonly ignored?: readonly string[];
};

/** A policy that selects endpoints. */
export type ManagedPolicy = Extract<Policy, { managed: true }>;

/** The policy of slices whose Service is not known (yet). */
export const UNKNOWN_SERVICE: Policy = { managed: false, reason: 'unknown-service' };
/** The policy of every Service on a node that is switched off. */
export const NODE_OFF: Policy = { managed: false, reason: 'node-off' };
/** Replaces a policy for edge nodes on a cloud node. */
export const CLOUD_NODE: Policy = { managed: false, reason: 'cloud-node' };

/** Replaces a policy whose node sets have no room. */
export const NODE_SET_LIMIT: Policy = { managed: false, reason: 'node-set-limit' };

/** Replaces the policy of a Service about which nothing can be decided in time. */
export const SERVICE_TOO_LARGE: Policy = { managed: false, reason: 'service-too-large' };

/** Whether two policies are equal. */
export function samePolicy(a: Policy, b: Policy): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
