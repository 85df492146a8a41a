import type { ServiceRow } from '../src/admin/page/page-data.ts';

/** A Service in the list. */
export interface Service {
  readonly name: string;
  readonly outcome: ServiceRow[1];
  readonly dryRun: boolean;
  readonly policy: string;
  readonly keys: readonly string[];
  readonly winners: readonly string[];
  readonly kept: number;
  /** How many of the kept ones are ready. */
  readonly ready: number;
  readonly total: number;
  /** Seconds since the epoch; 0: never. */
  readonly since: number;
  readonly warnings: readonly string[];
  /** The text for searches, in lower case. */
  readonly text: string;
}

export function serviceOf(row: ServiceRow): Service {
  const [name, outcome, dryRun, policy, keys, winners, kept, total, since, warnings, ready] = row;
  const text = [name, outcome, policy, ...keys, ...warnings].join(' ').toLowerCase();
  return {
    ...{ name, outcome, dryRun: dryRun === 1, policy, keys, winners },
    ...{ kept, ready, total, since, warnings, text },
  };
}

/** The last part of a label key, to keep the list narrow. */
export function shortKey(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

/** How long ago, e.g. `4 min`. */
export function ago(seconds: number, now = Date.now()): string {
  const age = Math.max(0, Math.round(now / 1000 - seconds));
  if (age < 60) return `${age} s`;
  if (age < 3_600) return `${Math.floor(age / 60)} min`;
  return age < 172_800 ? `${Math.floor(age / 3_600)} h` : `${Math.floor(age / 86_400)} d`;
}
