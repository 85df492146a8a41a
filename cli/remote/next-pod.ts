import type { V1Pod } from '@kubernetes/client-node';
import { timeOf } from './time-of.ts';

/** The next Pod of a node, beside a ready one that was there before it. */
export interface NextPod {
  readonly name: string;
  readonly isReady: boolean;
  /** When it became ready, or was made, in milliseconds since the epoch. */
  readonly since: number;
}

/** @param running the Pods of one DaemonSet that run on a node, without those in trouble */
export function nextPodOf(running: readonly V1Pod[]): NextPod | undefined {
  const created = (pod: V1Pod): number => timeOf(pod.metadata?.creationTimestamp);
  const [next, ...others] = running.toSorted((a, b) => created(b) - created(a));
  if (next === undefined || !others.some((each) => readySince(each) !== undefined))
    return undefined;
  const since = readySince(next);
  const name = next.metadata?.name ?? '';
  return { name, isReady: since !== undefined, since: since ?? created(next) };
}

/** When a Pod became ready; undefined: it is not. */
export function readySince({ status }: V1Pod): number | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' ? timeOf(ready.lastTransitionTime) : undefined;
}
