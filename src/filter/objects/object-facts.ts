import type { EndpointGroup } from '../../topology/decide/endpoint.ts';

export interface ObjectMeta {
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** What the topology needs of an object: a Node, or any PartialObjectMetadata. */
export interface PartialObjectMetadata extends ObjectMeta {
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: ReadonlyMap<string, string>;
}

/** The own Node. */
export interface OwnNodeFacts extends PartialObjectMetadata {
  /** Changes with all that a kube-proxy ends at: the uid, `spec.podCIDRs` and `status.addresses`. */
  readonly identity: string;
}

/** What a decision needs of an EndpointSlice or Endpoints object. */
export interface EndpointsFacts extends ObjectMeta {
  /**
   * Name of the Service it belongs to: a slice's label `kubernetes.io/service-name`, empty when the label is
   * absent; an Endpoints object's own name.
   */
  readonly service: string;
  /** Whether any endpoint carries `hints`. */
  readonly hinted: boolean;
  /**
   * One group for a slice, one per subset (addresses, then notReadyAddresses) for an Endpoints object. Equal
   * endpoints are one object: 100,000 differ, for a decision, in a few nodes, zones and states.
   */
  readonly groups: readonly EndpointGroup[];
}

/** What a decision needs of a Service. */
export interface ServiceFacts extends PartialObjectMetadata {
  /** `<protocol>/<name>` of each port, as in EndpointGroup.ports. */
  readonly ports: readonly string[];
  /** `spec.type`; empty when absent. */
  readonly type: string;
  /** `spec.clusterIP`, `None` for a headless Service; empty when absent. */
  readonly clusterIP: string;
  /** Whether it has a `spec.selector`. */
  readonly selector: boolean;
  /** `spec.ipFamilies`; empty when absent. */
  readonly ipFamilies: readonly string[];
  /** `spec.internalTrafficPolicy`; empty when absent. */
  readonly internalTrafficPolicy: string;
  /** `spec.externalTrafficPolicy`; empty when absent. */
  readonly externalTrafficPolicy: string;
  /** `spec.trafficDistribution`; empty when absent. */
  readonly trafficDistribution: string;
}

/** A port with its number. Decisions use only its key. */
export interface PortNumber {
  /** `<protocol>/<name>`, as in EndpointGroup.ports. */
  readonly key: string;
  /** 0 when absent. */
  readonly number: number;
}

/** Where a Service is reached. */
export interface ServiceAddresses {
  /** One for each address family; `None` for a headless Service. */
  readonly clusterIPs: readonly string[];
  readonly ports: readonly PortNumber[];
}
