import type { ApiClient, KubeObject } from '../../support/api.ts';
import {
  asBackends,
  isCloudOnly,
  type ModelEndpoint,
  type ModelObject,
  type ModelState,
  type ModelWorld,
  viewOf,
} from '../../support/model.ts';
import { NODE_ADDRESS } from './ipvs-node.ts';

/** All objects of the API that decide what is in a node's tables. */
export interface ApiState {
  readonly nodes: readonly KubeObject[];
  readonly services: readonly KubeObject[];
  readonly slices: readonly KubeObject[];
}

/** What a node's tables should hold. */
export interface ExpectedIpvs {
  /** As backendsOfIpvs() gives them: by `TCP 10.96.0.1:80` the sorted `ip:port`. */
  readonly backends: ReadonlyMap<string, readonly string[]>;
  /** Addresses on kube-ipvs0, sorted. */
  readonly addresses: readonly string[];
}

/** Reads from the API server directly. */
export async function readApiState(api: ApiClient): Promise<ApiState> {
  const [nodes, services, slices] = await Promise.all([
    api.list('/api/v1/nodes'),
    api.list('/api/v1/services'),
    api.list('/apis/discovery.k8s.io/v1/endpointslices'),
  ]);
  return { nodes, services, slices };
}

/**
 * Computes with support/model.ts what the node sees and, from that, what kube-proxy makes of it in IPVS mode: a
 * virtual server for each port at the cluster IP, also of Services without endpoints, and for each node port at
 * the node's own address. The wrapper runs with cloud.mode passthrough.
 */
export function expectedIpvs(state: ApiState, nodeName: string): ExpectedIpvs {
  const objects = new Map(state.slices.map((slice) => [keyOf(slice), modelSlice(slice)] as const));
  const topology = { ...modelWorld(state), cloudPassthrough: true };
  const view = viewOf(topology, nodeName, objects);
  const isHere = (endpoint: ModelEndpoint) => endpoint.node === nodeName;
  const local = new Map([...view].map(([key, endpoints]) => [key, endpoints.filter(isHere)]));
  const backends = new Map<string, readonly string[]>();
  const addresses = new Set<string>();
  for (const service of state.services.filter(({ spec }) => spec.clusterIP !== 'None')) {
    if (isCloudOnly(topology, nodeName, keyOf(service), objects)) continue;
    addresses.add(service.spec.clusterIP);
    for (const port of service.spec.ports as ServicePort[]) {
      const name = port.name ?? '';
      const number = portNumber(state, keyOf(service), name);
      const seen = asBackends(view, objects, keyOf(service), { name, number });
      const protocol = port.protocol ?? 'TCP';
      backends.set(`${protocol} ${service.spec.clusterIP}:${port.port}`, seen);
      if (port.nodePort !== undefined) {
        const fromOutside =
          service.spec.externalTrafficPolicy === 'Local'
            ? asBackends(local, objects, keyOf(service), { name, number })
            : seen;
        backends.set(`${protocol} ${NODE_ADDRESS}:${port.nodePort}`, fromOutside);
      }
    }
  }
  return { backends, addresses: [...addresses].sort() };
}

interface ServicePort {
  readonly name?: string;
  readonly port: number;
  readonly nodePort?: number;
  readonly protocol?: string;
}

interface SlicePort {
  readonly name?: string;
  readonly port: number;
}

interface SliceEndpoint {
  readonly addresses: readonly string[];
  readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean };
  readonly nodeName?: string;
  readonly zone?: string;
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** `namespace/name` of the Service that a slice belongs to. */
function ownerOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.labels?.['kubernetes.io/service-name']}`;
}

function modelWorld({ nodes, services }: ApiState): ModelWorld {
  return {
    nodes: new Map(nodes.map(({ metadata }) => [metadata.name, metadata.labels ?? {}])),
    services: new Map(
      services.map((service) => {
        const { spec, metadata } = service;
        const described = {
          topologyKeys: metadata.annotations?.topologyKeys,
          headless: spec.clusterIP === 'None',
          internalLocal: spec.internalTrafficPolicy === 'Local',
          externalLocal: spec.externalTrafficPolicy === 'Local',
        };
        return [keyOf(service), described];
      }),
    ),
  };
}

function modelSlice(slice: KubeObject): ModelObject {
  const ports = (slice.ports ?? []) as SlicePort[];
  const endpoints = ((slice.endpoints ?? []) as SliceEndpoint[]).map((endpoint) => ({
    address: endpoint.addresses[0] ?? '',
    node: endpoint.nodeName,
    zone: endpoint.zone,
    state: stateOf(endpoint),
  }));
  return {
    service: ownerOf(slice),
    groups: [{ ports: ports.map(({ name = '' }) => name), endpoints }],
  };
}

function stateOf({ conditions }: SliceEndpoint): ModelState {
  if (conditions?.ready === undefined) return 'unknown';
  if (conditions.ready) return 'ready';
  return conditions.serving === true ? 'serving' : 'notReady';
}

/** All slices of a Service have the same number for a port here; 0 if there is no slice with it. */
function portNumber({ slices }: ApiState, service: string, name: string): number {
  const siblings = slices.filter((slice) => ownerOf(slice) === service);
  const ports = siblings.flatMap((slice) => (slice.ports ?? []) as SlicePort[]);
  return ports.find((port) => (port.name ?? '') === name)?.port ?? 0;
}
