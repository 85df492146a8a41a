import { WrapperError } from '../../errors.ts';
import type { Codec, ObjectBytes } from '../../filter/codec/codec.ts';
import { createJsonCodec } from '../../filter/codec/json/codec.ts';
import { createProtobufCodec } from '../../filter/codec/protobuf/codec.ts';
import {
  ENDPOINT_SLICES,
  NAMESPACES,
  NODES,
  type Resource,
  SERVICES,
} from '../../filter/codec/resource.ts';
import { DEFAULT_READ_LIMITS } from '../../proxy/api/read-limits.ts';
import { COMMUNITIES, communityFacts } from '../../proxy/cluster/communities-handler.ts';
import { CollectionClient } from '../../proxy/reflector/collection-client.ts';
import type { Upstream } from '../../proxy/upstream/upstream.ts';
import type { KubeClient } from '../client/kube-client.ts';
import type { ClusterObjects } from './cluster-objects.ts';

/** Optional collections, besides Nodes, Services and EndpointSlices. */
export interface ReadClusterOptions {
  readonly namespaces: boolean;
  readonly communities: boolean;
}

/** Reads a cluster once, with LIST requests. Rejects if the API server does not answer or denies access. */
export async function readCluster(
  { upstream }: KubeClient,
  { namespaces, communities }: ReadClusterOptions,
): Promise<ClusterObjects> {
  const codec = createProtobufCodec();
  const json = createJsonCodec();
  const list = (resource: Resource, metadataOnly: boolean, by: Codec = codec) =>
    listAll(upstream, resource, metadataOnly, by);
  const [nodes, services, slices, spaces, declared] = await Promise.all([
    list(NODES, true),
    list(SERVICES, false),
    list(ENDPOINT_SLICES, false),
    namespaces ? list(NAMESPACES, true) : [],
    communities ? list(COMMUNITIES, false, json).catch(absentIsEmpty) : [],
  ]);
  return {
    nodes: nodes.map((object) => codec.partialMetadata(object)),
    services: services.map((object) => codec.service(object)),
    slices: slices.map((object) => readSlice(codec, object)),
    namespaces: spaces.map((object) => codec.partialMetadata(object)),
    communities: declared.map((object) => communityFacts(json, object)),
  };
}

async function listAll(
  upstream: Upstream,
  resource: Resource,
  metadataOnly: boolean,
  codec: Codec,
): Promise<readonly ObjectBytes[]> {
  const { encoding } = codec;
  const query = { resource, namespace: '', labelSelector: '', fieldSelector: '', encoding };
  const client = new CollectionClient({
    upstream,
    codec,
    query,
    metadataOnly,
    readLimits: DEFAULT_READ_LIMITS,
  });
  try {
    return (await client.list('0', AbortSignal.timeout(60_000))).items;
  } catch (error) {
    throw explainRefusal(resource, error);
  }
}

/** Names the right that is missing, because the API server's own message is about one request only. */
function explainRefusal({ plural, group }: Resource, error: unknown): unknown {
  if (!(error instanceof WrapperError) || error.status?.code !== 403) return error;
  const { status, message } = error;
  const right = `list ${plural}${group === '' ? '' : `.${group}`}`;
  const advice = 'or give the objects with --from (kubectl get -o yaml)';
  const text = `you need the right to ${right}, ${advice}: ${message}`;
  return new WrapperError('Refused', text, { status, cause: error });
}

/** If the resource does not exist (no CRD), there are no objects. */
function absentIsEmpty(error: unknown): readonly ObjectBytes[] {
  if (error instanceof WrapperError && error.status?.code === 404) return [];
  throw error;
}

function readSlice(codec: Codec, object: ObjectBytes): ClusterObjects['slices'][number] {
  const groups = codec.addresses(ENDPOINT_SLICES, object);
  const addresses = groups.flatMap(({ endpoints }) => endpoints.map(([first = '']) => first));
  return { ...codec.endpointSlice(object), addresses };
}
