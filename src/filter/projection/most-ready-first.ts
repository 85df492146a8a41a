import type { ProjectedEndpoints } from './service-decider.ts';

/**
 * Sorts the objects of a Service: those that show ready endpoints come before those that show none. kube-proxy may
 * read between two events, and must not find a Service without an endpoint that it can use.
 */
export function mostReadyFirst(
  projected: readonly ProjectedEndpoints[],
): readonly ProjectedEndpoints[] {
  if (projected.length < 2) return projected;
  const byRank: ProjectedEndpoints[][] = [[], [], []];
  for (const each of projected) byRank[rankOf(each)]?.push(each);
  return byRank.flat();
}

/** 0: ready endpoints are shown; 1: only others are; 2: none is. */
function rankOf({ object, keep }: ProjectedEndpoints): number {
  let index = 0;
  let rank = 2;
  for (const { endpoints } of object.groups) {
    for (const { state } of endpoints) {
      if (keep !== undefined && keep[index++] === 0) continue;
      if (state === 'ready') return 0;
      rank = 1;
    }
  }
  return rank;
}
