import type { Random } from '../../support/random.ts';
import type { ClusterBackend } from '../cluster-backend.ts';
import { historyWriter } from './cluster-writes.ts';
import { Timeline } from './timeline.ts';

/** A cluster with a random history, and what its clients may show. */
export interface Cluster {
  readonly backend: ClusterBackend;
  readonly timeline: Timeline;
  /** Makes one random change. */
  change(random: Random): Promise<void>;
  /** Makes a change of each input, so that the view is right only when each query has caught up. */
  changeAll(random: Random): Promise<void>;
  /** Writes all objects again, as into an empty etcd. */
  writeAll(): Promise<void>;
  /** Changes that are made from now on begin when the result is called. */
  hold(): () => void;
}

/** Fills a new cluster. */
export async function createCluster(backend: ClusterBackend, random: Random): Promise<Cluster> {
  const timeline = new Timeline({ site: 'a' });
  const writer = historyWriter(backend, timeline);
  await writer.begin(random);
  // One after the other: a write that waits for the API server must not come after a newer one.
  let last: Promise<void> = Promise.resolve();
  const inTurn = async (write: () => Promise<void>): Promise<void> => {
    const next = last.then(write);
    last = next.catch(() => {});
    await next;
  };
  return {
    backend,
    timeline,
    change: async (chosen) => await inTurn(async () => await writer.change(chosen)),
    changeAll: async (chosen) => await inTurn(async () => await writer.changeAll(chosen)),
    writeAll: async () => await writer.writeAll(),
    hold: () => {
      const held = Promise.withResolvers<void>();
      last = last.then(() => held.promise);
      return held.resolve;
    },
  };
}
