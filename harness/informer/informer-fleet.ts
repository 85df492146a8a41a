import type { NodeNetns } from '../network/node-netns.ts';
import { poll } from '../poll.ts';
import type { Binaries } from '../process/binaries.ts';
import { type Informers, type InformerVariant, startInformers } from './informer.ts';

export interface FleetOptions {
  readonly binaries: Binaries;
  readonly netns: NodeNetns;
  /** The informers of each process. */
  readonly processes: readonly (readonly InformerVariant[])[];
  /** What an informer must hold: rows by their key, as the model computes them. */
  readonly wanted: (variant: InformerVariant) => ReadonlyMap<string, readonly string[]>;
}

/** Stock client-go informers of all kinds, in several processes. */
export async function startInformerFleet(options: FleetOptions) {
  let running = await start(options);
  return {
    /** How they differ from what they must hold; empty: not at all. */
    differences: async () => await differences(options, running),
    /**
     * Ends all, and starts others. A client-go that was refused a few times waits for up to a minute before it tries
     * again, and forgets that only after two quiet minutes: a suite of faults would do little but wait.
     */
    renew: async () => {
      await stop(running);
      running = await start(options);
    },
    /** How clients that start now differ: not at all, if it is a client that is stuck, and not the wrapper. */
    readAnew: async () => await differencesAnew(options),
    /**
     * Waits until clients that start now do not differ. What is right in the kernels may still be on its way here:
     * kube-proxy does not show an endpoint that is not ready.
     */
    untilReadRight: async () => {
      const what = 'new clients that equal the model';
      await poll(
        async () => await differencesAnew(options),
        (found) => found === '',
        { timeoutMs: 60_000, what },
      );
    },
    stop: async () => await stop(running),
  };
}

async function differencesAnew(options: FleetOptions): Promise<string> {
  const fresh = await start(options);
  try {
    return await differences(options, fresh);
  } finally {
    await stop(fresh);
  }
}

async function start({ binaries, netns, processes }: FleetOptions): Promise<Informers[]> {
  const all = processes.map((variants) => startInformers({ binaries, netns, variants }));
  try {
    for (const informers of all) await informers.allSynced(60_000);
    return all;
  } catch (error) {
    await stop(all);
    throw error;
  }
}

async function stop(all: readonly Informers[]): Promise<void> {
  await Promise.all(all.map((informers) => informers.stop()));
}

async function differences(
  { processes, wanted }: FleetOptions,
  all: readonly Informers[],
): Promise<string> {
  const dumps = await Promise.all(all.map((informers) => informers.dump()));
  const reports = new Map(dumps.flatMap((dump) => [...dump]));
  const lines = processes.flat().flatMap((variant) => {
    const rows = wanted(variant);
    return (['store', 'handled'] as const).flatMap((place) => {
      const found = new Map(
        reports.get(variant.name)?.[place].map(({ key, endpoints }) => [key, endpoints]),
      );
      return [...new Set([...rows.keys(), ...found.keys()])].flatMap((key) => {
        const [is, must] = [found.get(key)?.join(), rows.get(key)?.join()];
        return is === must ? [] : [`${variant.name}, ${place}: ${key} is ${is}, must be ${must}`];
      });
    });
  });
  return lines.join('; ');
}
