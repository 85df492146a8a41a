import { type ApiClient, ApiError, type KubeObject } from '../api-server/api.ts';
import { putObject } from '../api-server/put-object.ts';
import { persist } from './persist.ts';

export type Resource = 'nodes' | 'services' | 'endpointslices' | 'endpoints';

/**
 * Creates, replaces or deletes an object, however long the API server is away.
 *
 * @param api a client of the server of now
 * @param key name or `namespace/name`
 * @param object undefined: it is deleted
 */
export async function writeObject(
  api: () => ApiClient,
  resource: Resource,
  key: string,
  object: KubeObject | undefined,
): Promise<void> {
  const collection = collectionOf(resource, key);
  await persist(async () => {
    if (object === undefined) await api().delete(`${collection}/${key.split('/').at(-1)}`);
    else if (resource === 'nodes') await putNode(api(), object);
    else await putObject(api(), collection, object);
  });
}

function collectionOf(resource: Resource, key: string): string {
  if (resource === 'nodes') return NODES;
  const group = resource === 'endpointslices' ? '/apis/discovery.k8s.io/v1' : '/api/v1';
  return `${group}/namespaces/${key.split('/')[0]}/${resource}`;
}

const NODES = '/api/v1/nodes';

/** Labels of another kind remain, and what a kube-proxy needs of its own Node. */
async function putNode(api: ApiClient, node: KubeObject): Promise<void> {
  const { name, labels } = node.metadata;
  const absent = { site: null, rack: null, 'topology.kubernetes.io/zone': null };
  try {
    await api.patch(`${NODES}/${name}`, { metadata: { labels: { ...absent, ...labels } } });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    await api.create(NODES, node);
  }
}
