import { Semaphore } from '../../src/util/semaphore.ts';

/** Calls `work` for each item, for at most `limit` of them at a time. Resolves with the results in order. */
export async function forEachLimited<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const turns = new Semaphore(limit);
  const inTurn = async (item: T): Promise<R> => {
    const endTurn = await turns.acquire();
    return work(item).finally(endTurn);
  };
  return await Promise.all(items.map(inTurn));
}
