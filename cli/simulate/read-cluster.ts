import { CODECS } from '../../src/client/api/codecs.ts';
import { DEFAULT_READ_LIMITS } from '../../src/client/api/read-limits.ts';
import { CollectionClient } from '../../src/client/reflector/collection-client.ts';
import { WrapperError } from '../../src/errors.ts';
import { NAMESPACES, NODES, type Resource } from '../../src/filter/objects/resource.ts';
import { COMMUNITIES } from '../../src/node/own-watches/communities-handler.ts';
import type { KubeClient } from '../client/kube-client.ts';
import { addObject, type ClusterObjects, COLLECTIONS, emptyCluster } from './cluster-objects.ts';
import type { SimulationSettings } from './simulation.ts';

/**
 * Reads what the settings need of a cluster, once, with LIST requests. Rejects if the API server does not answer or
 * denies access.
 */
export async function readCluster(
  client: KubeClient,
  { namespacePolicies, fabedgeCluster }: SimulationSettings,
): Promise<ClusterObjects> {
  const cluster = emptyCluster();
  const needed = COLLECTIONS.filter(
    (resource) =>
      (resource !== NAMESPACES || namespacePolicies) &&
      (resource !== COMMUNITIES || fabedgeCluster !== undefined),
  );
  await Promise.all(needed.map((resource) => readCollection(cluster, client, resource)));
  return cluster;
}

async function readCollection(
  cluster: ClusterObjects,
  { upstream }: KubeClient,
  resource: Resource,
): Promise<void> {
  // A custom resource is not available in protobuf.
  const encoding = resource === COMMUNITIES ? 'json' : 'protobuf';
  const metadataOnly = resource === NODES || resource === NAMESPACES;
  const selectors = { namespace: '', labelSelector: '', fieldSelector: '' };
  const query = { resource, ...selectors, encoding, metadataOnly } as const;
  const client = new CollectionClient({ upstream, query, readLimits: DEFAULT_READ_LIMITS });
  try {
    const { items } = await client.list('0', AbortSignal.timeout(60_000));
    for (const item of items) addObject(cluster, resource, CODECS[encoding], item);
  } catch (error) {
    const code = error instanceof WrapperError ? error.status?.code : undefined;
    // If there is no such custom resource, there are no objects.
    if (resource === COMMUNITIES && code === 404) return;
    throw code === 403 ? refusal(resource, error as WrapperError) : error;
  }
}

/** Names the right that is missing, because the API server's own message is about one request only. */
function refusal({ plural, group }: Resource, cause: WrapperError): WrapperError {
  const { status, message } = cause;
  const right = `list ${plural}${group === '' ? '' : `.${group}`}`;
  const advice = 'or give the objects with --from (kubectl get -o yaml)';
  const text = `you need the right to ${right}, ${advice}: ${message}`;
  return new WrapperError('Refused', text, { status, cause });
}
