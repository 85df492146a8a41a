import { sourceClusterOf } from '../../src/diagnosis/explain/source-cluster.ts';
import type {
  Codec,
  EndpointsFacts,
  ObjectBytes,
  PartialObjectMetadata,
  ServiceFacts,
} from '../../src/filter/codec/codec.ts';
import { unnumberedPorts } from '../../src/filter/objects/endpoint-groups.ts';
import {
  ENDPOINT_SLICES,
  NAMESPACES,
  NODES,
  type Resource,
  SERVICES,
} from '../../src/filter/objects/resource.ts';
import {
  COMMUNITIES,
  type CommunityFacts,
  communityFacts,
} from '../../src/node/own-watches/communities-handler.ts';

/** An EndpointSlice with the first address of each endpoint, in the order of its groups, flattened. */
export interface SimulatedSlice extends EndpointsFacts {
  readonly labels: ReadonlyMap<string, string>;
  readonly addresses: readonly string[];
  /** Ports without a number, which kube-proxy ignores, as in EndpointGroup.ports. */
  readonly unnumbered: readonly string[];
  /** See sourceClusterOf. */
  readonly sourceCluster: string | undefined;
}

/** The input of a simulation. */
export interface ClusterObjects {
  readonly nodes: PartialObjectMetadata[];
  readonly services: ServiceFacts[];
  readonly namespaces: PartialObjectMetadata[];
  readonly slices: SimulatedSlice[];
  readonly communities: CommunityFacts[];
}

/** The collections that affect a simulation. */
export const COLLECTIONS: readonly Resource[] = [
  NODES,
  SERVICES,
  ENDPOINT_SLICES,
  NAMESPACES,
  COMMUNITIES,
];

export function emptyCluster(): ClusterObjects {
  return { nodes: [], services: [], namespaces: [], slices: [], communities: [] };
}

/** Adds an object of one of {@link COLLECTIONS}. */
export function addObject(
  cluster: ClusterObjects,
  resource: Resource,
  codec: Codec,
  object: ObjectBytes,
): void {
  if (resource === NODES) cluster.nodes.push(codec.partialMetadata(object));
  if (resource === NAMESPACES) cluster.namespaces.push(codec.partialMetadata(object));
  if (resource === SERVICES) cluster.services.push(codec.service(object));
  if (resource === ENDPOINT_SLICES) cluster.slices.push(readSlice(codec, object));
  if (resource === COMMUNITIES) cluster.communities.push(communityFacts(codec, object));
}

function readSlice(codec: Codec, object: ObjectBytes): SimulatedSlice {
  const groups = codec.endpointGroups(ENDPOINT_SLICES, object);
  const endpoints = groups.flatMap((group) => group.endpoints);
  const addresses = endpoints.map(({ addresses: [first = ''] }) => first);
  const unnumbered = groups.flatMap(unnumberedPorts);
  const { labels, annotations } = codec.partialMetadata(object);
  const sourceCluster = sourceClusterOf(labels, annotations);
  const facts = codec.endpoints(ENDPOINT_SLICES, object);
  return { ...facts, labels, addresses, unnumbered, sourceCluster };
}
