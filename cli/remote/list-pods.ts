import type { V1Pod, V1PodList } from '@kubernetes/client-node';
import { WrapperError } from '../../src/errors.ts';
import type { KubeClient } from '../client/kube-client.ts';

export interface PodSearch {
  /** Default: all. */
  readonly namespace?: string;
  readonly selector: string;
  /** Default: on all nodes. */
  readonly node?: string;
}

/** Lists Pods. Throws `Refused` without the right to. */
export async function listPods(
  client: KubeClient,
  { namespace, selector, node }: PodSearch,
): Promise<readonly V1Pod[]> {
  const query = new URLSearchParams({ labelSelector: selector });
  if (node !== undefined) query.set('fieldSelector', `spec.nodeName=${node}`);
  const all = namespace === undefined;
  const path = `/api/v1/${all ? '' : `namespaces/${encodeURIComponent(namespace)}/`}pods?${query}`;
  const right = `list pods in ${all ? 'all namespaces' : `namespace ${namespace}`}`;
  const { items } = await client.get<V1PodList>(path, right);
  return items;
}

/** For the catch() of a read: the value that stands for what the caller has no right to read. */
export function unlessRefused<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof WrapperError && error.code === 'Refused') return instead;
    throw error;
  };
}
