import type { V1NodeList } from '@kubernetes/client-node';
import type { KubeClient } from '../client/kube-client.ts';
import { unlessRefused } from './list-pods.ts';

/**
 * The nodes whose kubelet does not report any more: the node controller has set Ready to Unknown. A kubelet that reports
 * that its node is not ready can be asked, and its wrapper may be the reason. Empty without the right to list nodes.
 */
export async function lostNodes(client: KubeClient): Promise<ReadonlySet<string>> {
  // Version 0: what the API server has in memory. metadata.name is the only field of a Node to select by.
  const path = '/api/v1/nodes?resourceVersion=0';
  const none: Pick<V1NodeList, 'items'> = { items: [] };
  const { items } = await client
    .get<Pick<V1NodeList, 'items'>>(path, 'list nodes')
    .catch(unlessRefused(none));
  const lost = items.filter(({ status }) =>
    status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'Unknown'),
  );
  return new Set(lost.map(({ metadata }) => metadata?.name ?? ''));
}
