import { WrapperError } from '../../errors.ts';
import type {
  EndpointsFacts,
  ObjectMeta,
  PartialObjectMetadata,
  ServiceFacts,
} from '../../filter/codec/codec.ts';
import { createJsonCodec } from '../../filter/codec/json/codec.ts';
import { ENDPOINT_SLICES, NAMESPACES, NODES, SERVICES } from '../../filter/codec/resource.ts';
import {
  COMMUNITIES,
  type CommunityFacts,
  communityFacts,
} from '../../proxy/cluster/communities-handler.ts';
import { parseYaml } from '../../read-yaml.ts';
import { readManifestFiles } from './manifest-files.ts';

/** An EndpointSlice with the first address of each endpoint, in the order of its groups, flattened. */
export interface SimulatedSlice extends EndpointsFacts {
  readonly addresses: readonly string[];
}

/** The input of a simulation. */
export interface ClusterObjects {
  readonly nodes: PartialObjectMetadata[];
  readonly services: ServiceFacts[];
  readonly namespaces: PartialObjectMetadata[];
  readonly slices: SimulatedSlice[];
  readonly communities: CommunityFacts[];
}

export function emptyCluster(): ClusterObjects {
  return { nodes: [], services: [], namespaces: [], slices: [], communities: [] };
}

interface Manifest {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly items?: unknown;
  readonly metadata?: { readonly namespace?: unknown };
}

/**
 * Reads manifests in YAML or JSON: files, folders and `-`, standard input. A file can contain several documents and lists, like the output of
 * `kubectl get -o yaml`. Kinds that do not affect endpoints are ignored. If an object occurs more than once, the last
 * one counts, as with kubectl apply. Throws `InvalidSettings` with the name of the file.
 */
export function readManifests(paths: readonly string[], recursive = false): ClusterObjects {
  const cluster = emptyCluster();
  for (const { name, text } of readManifestFiles(paths, { recursive })) {
    try {
      for (const document of parseYaml(text)) addManifest(cluster, document);
    } catch (cause) {
      const { message } = WrapperError.from(cause, 'InvalidSettings');
      const what = `cannot read ${name}: ${message.split('\n', 1)[0]}`;
      throw new WrapperError('InvalidSettings', what, { cause });
    }
  }
  const { nodes, services, namespaces, slices, communities } = cluster;
  return {
    nodes: lastOfEach(nodes),
    services: lastOfEach(services),
    namespaces: lastOfEach(namespaces),
    slices: lastOfEach(slices),
    communities: lastOfEach(communities),
  };
}

/** Objects with the same name are the same object, independent of their API version. */
function lastOfEach<T extends ObjectMeta>(objects: readonly T[]): T[] {
  const byName = objects.map((object, index) => {
    const { namespace, name } = object;
    return [name === '' ? index : `${namespace}/${name}`, object] as const;
  });
  return [...new Map(byName).values()];
}

/** API groups of the kinds that are read. Other groups have kinds with the same names. */
const GROUPS = new Map(
  [NODES, NAMESPACES, SERVICES, ENDPOINT_SLICES, COMMUNITIES].map(({ kind, group }) => [
    kind,
    group,
  ]),
);

function addManifest(cluster: ClusterObjects, document: unknown): void {
  if (typeof document !== 'object' || document === null) return;
  const { apiVersion, kind, items } = document as Manifest;
  if (Array.isArray(items)) {
    // Items of a NodeList from the API do not have a kind.
    const itemKind = String(kind ?? '').replace(/List$/, '');
    const typed = itemKind === '' ? {} : { apiVersion, kind: itemKind };
    for (const item of items) addManifest(cluster, { ...typed, ...item });
    return;
  }
  if (apiVersion !== undefined && GROUPS.get(String(kind)) !== groupOf(String(apiVersion))) return;
  const codec = createJsonCodec();
  if (kind === 'Node') cluster.nodes.push(codec.partialMetadata(encode(document)));
  if (kind === 'Namespace') cluster.namespaces.push(codec.partialMetadata(encode(document)));
  if (kind === 'Service') cluster.services.push(codec.service(encode(namespaced(document))));
  if (kind === 'EndpointSlice') cluster.slices.push(readSlice(encode(namespaced(document))));
  if (kind === 'Community') cluster.communities.push(communityFacts(codec, encode(document)));
}

/** `discovery.k8s.io` of `discovery.k8s.io/v1`; the core group has no name. */
function groupOf(apiVersion: string): string {
  return apiVersion.slice(0, Math.max(0, apiVersion.indexOf('/')));
}

function readSlice(object: Buffer): SimulatedSlice {
  const codec = createJsonCodec();
  const groups = codec.addresses(ENDPOINT_SLICES, object);
  const addresses = groups.flatMap(({ endpoints }) => endpoints.map(([first = '']) => first));
  return { ...codec.endpointSlice(object), addresses };
}

function encode(document: object): Buffer {
  return Buffer.from(JSON.stringify(document));
}

/** As with kubectl apply, the default namespace is `default`. */
function namespaced(document: Manifest): object {
  const { metadata } = document;
  return { ...document, metadata: { namespace: 'default', ...metadata } };
}
