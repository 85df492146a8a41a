/** Percentiles of one kind of figure. */
export interface Summary {
  /** Number of samples. */
  readonly n: number;
  readonly min: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** One line of the results. */
export interface Measure {
  /** Stable name, such as `list.raw`. */
  readonly id: string;
  readonly what: string;
  readonly unit:
    | 'ms'
    | 's'
    | '%'
    | 'nodes'
    | 'lists'
    | 'µs'
    | 'MB'
    | '% of a core'
    | 'events'
    | 'connections'
    | 'requests'
    | 'watches'
    | 'exponent';
  /** How many slices change, where it is about that. */
  readonly slices?: number;
  /** The value of the API server, or of a kube-proxy alone; undefined: these have none. */
  readonly direct?: Summary;
  readonly wrapper: Summary;
}

/** A line, and the name of the program that it is about. */
export interface ProgramMeasure extends Measure {
  readonly program: string;
}

/** Sums up samples, of which there must be at least one. */
export function summarize(samples: readonly number[]): Summary {
  const sorted = [...samples].sort((a, b) => a - b);
  const rank = (share: number) => {
    const value = sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
    if (value === undefined) throw new Error('no samples');
    return value;
  };
  const [min, max] = [rank(1 / sorted.length), rank(1)];
  return { n: sorted.length, min, p50: rank(0.5), p90: rank(0.9), p99: rank(0.99), max };
}

/** Median of the wrapper divided by the direct one; undefined if that is missing or 0. */
export function ratioOf(measure: Measure): number | undefined {
  const direct = measure.direct?.p50 ?? 0;
  return direct === 0 ? undefined : measure.wrapper.p50 / direct;
}
