import { eventually } from '../eventually.ts';
import type { NodeNetns } from '../network/node-netns.ts';
import type { Binaries } from '../process/binaries.ts';
import { type Informers, type InformerVariant, startInformers } from './informer.ts';

/** What an informer should hold, or how it differs. */
export interface Difference {
  readonly name: string;
  readonly place: 'store' | 'handled';
  readonly key: string;
  readonly seen: string | undefined;
  readonly expected: string | undefined;
}

/** Rows by their key, as the model computes them. */
export type WantedRows = (variant: InformerVariant) => ReadonlyMap<string, readonly string[]>;

export interface FleetOptions {
  readonly binaries: Binaries;
  readonly netns: NodeNetns;
  /** The informers of each process. */
  readonly processes: readonly (readonly InformerVariant[])[];
  readonly wanted: WantedRows;
  /**
   * A client-go that was refused a few times waits for up to a minute before it tries again, and forgets that only
   * after two quiet minutes. One that took longer than this to be right is restarted afterwards, because a suite of
   * faults would do little but wait.
   */
  readonly renewAfterMs: number;
}

/** Stock client-go informers of all kinds, in several processes. */
export async function startInformerFleet(options: FleetOptions) {
  const makeSquads = () => options.processes.map((variants) => new Squad(options, variants));
  const squads = makeSquads();
  await Promise.all(squads.map(async (squad) => await squad.start()));
  const lost: Difference[] = [];
  let renewed = 0;
  return {
    /** What was not right when the time was over. */
    lost,
    /** How often informers were restarted because they had backed off for long. */
    get renewed() {
      return renewed;
    },
    /** What clients that start now get wrong: nothing, if it is a client that is stuck, and not the wrapper. */
    readAnew: async () => {
      const fresh = makeSquads();
      try {
        for (const squad of fresh) await squad.start();
        return (await Promise.all(fresh.map(async (squad) => await squad.differences()))).flat();
      } finally {
        for (const squad of fresh) await squad.stop();
      }
    },
    /**
     * Waits until all hold what is wanted. Resolves with the milliseconds that it took; rejects when one does
     * not, after adding to `lost` what.
     */
    settle: async (timeoutMs: number) => {
      const times = await Promise.allSettled(
        squads.map(async (squad) => await squad.settle(timeoutMs)),
      );
      for (const [index, time] of times.entries()) {
        const squad = squads[index];
        if (time.status === 'rejected' && squad !== undefined) {
          lost.push(...(await squad.differences()));
          throw time.reason;
        }
        if (time.status === 'fulfilled' && time.value > options.renewAfterMs) {
          renewed += 1;
          await squad?.renew();
        }
      }
      return Math.max(...times.map((time) => (time.status === 'fulfilled' ? time.value : 0)));
    },
    stop: async () => void (await Promise.all(squads.map(async (squad) => await squad.stop()))),
  };
}

/** The informers of one process. */
class Squad {
  readonly #options: FleetOptions;
  readonly #variants: readonly InformerVariant[];
  #informers: Informers | undefined;

  constructor(options: FleetOptions, variants: readonly InformerVariant[]) {
    this.#options = options;
    this.#variants = variants;
  }

  async start(): Promise<void> {
    const { binaries, netns } = this.#options;
    this.#informers = startInformers({ binaries, netns, variants: this.#variants });
    await this.#informers.allSynced(60_000);
  }

  async renew(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async stop(): Promise<void> {
    await this.#informers?.stop();
  }

  async settle(timeoutMs: number): Promise<number> {
    const { elapsedMs } = await eventually(
      async () => await this.differences(),
      (list) => list.length === 0,
      { timeoutMs, intervalMs: 50, what: 'informers as the model says' },
    );
    return elapsedMs;
  }

  async differences(): Promise<Difference[]> {
    const reports = await this.#informers?.dump();
    return this.#variants.flatMap((variant) => {
      const wanted = this.#options.wanted(variant);
      const report = reports?.get(variant.name);
      return (['store', 'handled'] as const).flatMap((place) => {
        const found = new Map(report?.[place].map(({ key, endpoints }) => [key, endpoints]));
        return [...new Set([...wanted.keys(), ...found.keys()])].flatMap((key) => {
          const [seen, expected] = [found.get(key)?.join(), wanted.get(key)?.join()];
          return seen === expected ? [] : [{ name: variant.name, place, key, seen, expected }];
        });
      });
    });
  }
}
