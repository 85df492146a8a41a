import type { V1NodeList, V1ObjectMeta } from '@kubernetes/client-node';
import type { KubeClient } from '../client/kube-client.ts';
import { unlessRefused } from './list-pods.ts';

/** A node of the cluster. */
export interface ClusterNode {
  readonly name: string;
  /**
   * Its kubelet does not report any more: the node controller has set Ready to Unknown. A kubelet that reports that its
   * node is not ready can be asked, and its wrapper may be the reason.
   */
  readonly isLost: boolean;
}

/**
 * The nodes of the cluster; undefined without the right to list them.
 *
 * @param name only this one, if it exists; default: all
 */
export async function listNodes(
  client: KubeClient,
  name?: string,
): Promise<readonly ClusterNode[] | undefined> {
  // Version 0: what the API server has in memory.
  const query = new URLSearchParams({ resourceVersion: '0' });
  if (name !== undefined) query.set('fieldSelector', `metadata.name=${name}`);
  const list = await client
    .get<Pick<V1NodeList, 'items'>>(`/api/v1/nodes?${query}`, 'list nodes')
    .catch(unlessRefused(undefined));
  return list?.items.map(({ metadata, status: { conditions = [] } = {} }) => ({
    name: metadata?.name ?? '',
    isLost: conditions.some(({ type, status }) => type === 'Ready' && status === 'Unknown'),
  }));
}

/** What the API server sends of each node: its metadata. One that cannot do that sends all. */
const METADATA =
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;q=0.9';

/** The labels of all nodes of the cluster, by the name of the node; undefined without the right to list them. */
export async function nodeLabels(
  client: KubeClient,
): Promise<ReadonlyMap<string, readonly string[]> | undefined> {
  const path = '/api/v1/nodes?resourceVersion=0';
  const list = await client
    .get<{ items: { metadata?: V1ObjectMeta }[] }>(path, 'list nodes', METADATA)
    .catch(unlessRefused(undefined));
  if (list === undefined) return undefined;
  return new Map(
    list.items.map(({ metadata: { name = '', labels = {} } = {} }) => [name, Object.keys(labels)]),
  );
}
