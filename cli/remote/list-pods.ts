import type { V1Pod, V1PodList } from '@kubernetes/client-node';
import { WrapperError } from '../../src/errors.ts';
import type { KubeClient } from '../client/kube-client.ts';

export interface PodSearch {
  /** Default: all. */
  readonly namespace?: string;
  readonly selector: string;
  /** Only on this node, or meant for it; default: all. */
  readonly node?: string;
}

/** Lists Pods. Throws `Refused` without the right to. */
export async function listPods(
  client: KubeClient,
  { namespace, selector, node }: PodSearch,
): Promise<readonly V1Pod[]> {
  const all = namespace === undefined;
  const right = `list pods in ${all ? 'all namespaces' : `namespace ${namespace}`}`;
  const read = async (nodeName?: string): Promise<readonly V1Pod[]> => {
    const query = new URLSearchParams({ labelSelector: selector });
    if (nodeName !== undefined) query.set('fieldSelector', `spec.nodeName=${nodeName}`);
    const path = `/api/v1/${all ? '' : `namespaces/${encodeURIComponent(namespace)}/`}pods?${query}`;
    return (await client.get<V1PodList>(path, right)).items;
  };
  if (node === undefined) return await read();
  // A Pod that finds no room has no nodeName. Few have none, and a cluster may have thousands of Pods.
  const [scheduled, others] = await Promise.all([read(node), read('')]);
  return [...scheduled, ...others.filter((pod) => nodeNameOf(pod) === node)];
}

/** The Pods that are meant to run, by their node; without those that have none yet. */
export function podsByNode(pods: readonly V1Pod[]): Map<string, V1Pod[]> {
  const byNode = Map.groupBy(pods.filter(isMeantToRun), nodeNameOf);
  byNode.delete('');
  return byNode;
}

function isMeantToRun({ metadata, status }: V1Pod): boolean {
  const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  return !isOver && metadata?.deletionTimestamp === undefined;
}

/** The node of a Pod. The controller of DaemonSets names it in a field selector, before the Pod is scheduled. */
function nodeNameOf({ spec }: V1Pod): string {
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return spec?.nodeName ?? required?.nodeSelectorTerms[0]?.matchFields?.[0]?.values?.[0] ?? '';
}

/** For the catch() of a read: the value that stands for what the caller has no right to read. */
export function unlessRefused<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof WrapperError && error.code === 'Refused') return instead;
    throw error;
  };
}
