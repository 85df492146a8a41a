/** A source of random choices that a seed repeats. */
export interface Random {
  /** A whole number from 0 to `bound` - 1. */
  below(bound: number): number;
  /** True in `share` (0 to 1) of all cases. */
  chance(share: number): boolean;
  pick<T>(items: readonly T[]): T;
}

/** Mulberry32: small, and good enough to choose test cases. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    below: (bound) => Math.floor(next() * bound),
    chance: (share) => next() < share,
    pick: (items) => {
      if (items.length === 0) throw new Error('nothing to pick from');
      return items[Math.floor(next() * items.length)] as (typeof items)[number];
    },
  };
}

/** The seed of this run: `KPW_SEED`, else another one each time. Tests print it. */
export function chooseSeed(): number {
  const { KPW_SEED } = process.env;
  return KPW_SEED === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(KPW_SEED);
}
