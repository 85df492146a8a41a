import type { V1NodeList } from '@kubernetes/client-node';
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

/** All nodes of the cluster. Empty without the right to list them. */
export async function listNodes(client: KubeClient): Promise<readonly ClusterNode[]> {
  // Version 0: what the API server has in memory.
  const path = '/api/v1/nodes?resourceVersion=0';
  const none: Pick<V1NodeList, 'items'> = { items: [] };
  const { items } = await client
    .get<Pick<V1NodeList, 'items'>>(path, 'list nodes')
    .catch(unlessRefused(none));
  return items.map(({ metadata, status: { conditions = [] } = {} }) => ({
    name: metadata?.name ?? '',
    isLost: conditions.some(({ type, status }) => type === 'Ready' && status === 'Unknown'),
  }));
}
