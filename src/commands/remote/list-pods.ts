import type { KubeClient } from '../client/kube-client.ts';

export interface PodSearch {
  readonly namespace: string;
  readonly selector: string;
  /** Default: on all nodes. */
  readonly node?: string;
}

interface PodList<Pod> {
  readonly items: readonly Pod[];
  readonly metadata?: { readonly continue?: string };
}

/** Pods of one response. */
const PAGE = '500';

/** Lists Pods, page by page. Throws `Refused` without the right to. */
export async function listPods<Pod>(
  client: KubeClient,
  { namespace, selector, node }: PodSearch,
): Promise<Pod[]> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const query = new URLSearchParams({ labelSelector: selector, limit: PAGE });
  if (node !== undefined) query.set('fieldSelector', `spec.nodeName=${node}`);
  const pods: Pod[] = [];
  for (;;) {
    const list = await client.get<PodList<Pod>>(
      `${path}?${query}`,
      `list pods in namespace ${namespace}`,
    );
    pods.push(...list.items);
    const next = list.metadata?.continue ?? '';
    if (next === '') return pods;
    query.set('continue', next);
  }
}
