import type { V1Pod } from '@kubernetes/client-node';
import type { KubeClient } from '../client/kube-client.ts';

export interface PodSearch {
  readonly namespace: string;
  readonly selector: string;
  /** Default: on all nodes. */
  readonly node?: string;
}

/** A list in JSON. V1PodList has another name for `continue`. */
interface PodList {
  readonly items: readonly V1Pod[];
  readonly metadata?: { readonly continue?: string };
}

/** Pods of one response. */
const PAGE = '500';

/** Lists Pods, page by page. Throws `Refused` without the right to. */
export async function listPods(
  client: KubeClient,
  { namespace, selector, node }: PodSearch,
): Promise<V1Pod[]> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const query = new URLSearchParams({ labelSelector: selector, limit: PAGE });
  if (node !== undefined) query.set('fieldSelector', `spec.nodeName=${node}`);
  const pods: V1Pod[] = [];
  for (;;) {
    const list = await client.get<PodList>(
      `${path}?${query}`,
      `list pods in namespace ${namespace}`,
    );
    pods.push(...list.items);
    const next = list.metadata?.continue ?? '';
    if (next === '') return pods;
    query.set('continue', next);
  }
}
