import { readFileSync } from 'node:fs';
import { loadAll } from 'js-yaml';
import { WrapperError } from '../../errors.ts';
import type { EndpointsFacts, LabelledObject, ServiceFacts } from '../../filter/codec.ts';
import { createJsonCodec } from '../../filter/json/codec.ts';
import { ENDPOINT_SLICES } from '../../filter/resource.ts';
import { type CommunityFacts, communityFacts } from '../../proxy/communities-feed.ts';

/** An EndpointSlice with the first address of each endpoint, in the order of its groups, flattened. */
export interface SimulatedSlice extends EndpointsFacts {
  readonly addresses: readonly string[];
}

/** What a simulation is made from. */
export interface ClusterObjects {
  readonly nodes: LabelledObject[];
  readonly services: ServiceFacts[];
  readonly namespaces: LabelledObject[];
  readonly slices: SimulatedSlice[];
  readonly communities: CommunityFacts[];
}

export function emptyCluster(): ClusterObjects {
  return { nodes: [], services: [], namespaces: [], slices: [], communities: [] };
}

interface Manifest {
  readonly kind?: unknown;
  readonly items?: unknown;
  readonly metadata?: { readonly namespace?: unknown };
}

/**
 * Reads manifests: YAML or JSON, several documents or lists in each file, as `kubectl get -o yaml` writes them.
 * Kinds that say nothing about endpoints are passed over. Throws `InvalidSettings` naming the file.
 */
export function readManifests(files: readonly string[]): ClusterObjects {
  const cluster = emptyCluster();
  for (const file of files) {
    try {
      for (const document of loadAll(readFileSync(file, 'utf8'))) addManifest(cluster, document);
    } catch (cause) {
      const { message } = WrapperError.from(cause, 'InvalidSettings');
      const what = `cannot read ${file}: ${message.split('\n', 1)[0]}`;
      throw new WrapperError('InvalidSettings', what, { cause });
    }
  }
  return cluster;
}

function addManifest(cluster: ClusterObjects, document: unknown): void {
  if (typeof document !== 'object' || document === null) return;
  const { kind, items } = document as Manifest;
  if (Array.isArray(items)) {
    // The items of a NodeList, as the API answers it, do not name their kind.
    const itemKind = String(kind ?? '').replace(/List$/, '');
    for (const item of items) addManifest(cluster, { kind: itemKind, ...item });
    return;
  }
  const codec = createJsonCodec();
  if (kind === 'Node') cluster.nodes.push(codec.labelled(encode(document)));
  if (kind === 'Namespace') cluster.namespaces.push(codec.labelled(encode(document)));
  if (kind === 'Service') cluster.services.push(codec.service(encode(namespaced(document))));
  if (kind === 'EndpointSlice') cluster.slices.push(readSlice(encode(namespaced(document))));
  if (kind === 'Community') cluster.communities.push(communityFacts(codec, encode(document)));
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

/** As kubectl apply: a manifest without a namespace is for `default`. */
function namespaced(document: Manifest): object {
  const { metadata } = document;
  return { ...document, metadata: { namespace: 'default', ...metadata } };
}
