import type { ServiceRow } from '../src/admin/page/page-data.ts';
import { duration } from './text.ts';

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

/** Reasons why a Service is not filtered, as far as their names do not say it. */
const REASONS: Readonly<Record<string, string>> = {
  'no-policy': 'no policy',
  // The warning says why.
  'invalid-policy': 'all are shown',
  'local-traffic-policy': 'traffic policy Local',
  'kubernetes-service': 'the API server itself',
};

/** Why a Service without keys shows what it shows. */
export function reasonText({ outcome, policy }: Service): string {
  const reason = REASONS[policy] ?? policy;
  return outcome === 'filtered' || outcome === 'unfiltered' ? reason : `${outcome}: ${reason}`;
}

/** How long ago, e.g. `4 min`. */
export function ago(seconds: number, now = Date.now()): string {
  return duration(Math.max(0, Math.round(now / 1000 - seconds)));
}
