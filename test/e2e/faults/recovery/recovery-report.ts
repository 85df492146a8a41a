import { createTextTable } from '../../support/text-table.ts';
import { BOUNDS } from './bounds.ts';
import type { FaultKind, Room } from './fault-kind.ts';
import type { FaultOutcome } from './history-run.ts';

/** A bound that was broken, with all that is needed to see it again. */
export interface Finding {
  /** What was checked, such as `view` or `readyz`. */
  readonly check: string;
  readonly fault: string;
  readonly what: string;
}

export interface RecoverySummary {
  readonly seed: number;
  readonly faults: number;
  readonly kinds: number;
  /** Faults that hit nothing. They do not count. */
  readonly harmless: number;
  readonly rightAgainMs: Percentiles;
  readonly findings: readonly Finding[];
  readonly neverHit: readonly string[];
  readonly byKind: readonly (Percentiles & { readonly kind: string; readonly faults: number })[];
}

export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** Collects what became of the faults of all histories. */
export class RecoveryReport {
  readonly #seed: number;
  readonly #kinds: readonly FaultKind[];
  readonly #outcomes: { readonly history: number; readonly outcome: FaultOutcome }[] = [];

  /** @param kinds those that the plan has; each must harm something at least once */
  constructor(seed: number, kinds: readonly FaultKind[]) {
    this.#seed = seed;
    this.#kinds = kinds;
  }

  add(history: number, outcome: FaultOutcome): void {
    this.#outcomes.push({ history, outcome });
  }

  get summary(): RecoverySummary {
    const counted = this.#outcomes.filter(({ outcome }) => outcome.hits > 0);
    const times = counted.map(({ outcome }) => timeOf(outcome));
    const hit = new Set(counted.flatMap(({ outcome }) => outcome.fault.kinds.map(nameOf)));
    const kinds = [...new Set(this.#kinds.map(nameOf))];
    return {
      seed: this.#seed,
      faults: counted.length,
      kinds: hit.size,
      harmless: this.#outcomes.length - counted.length,
      rightAgainMs: percentiles(times),
      findings: this.#outcomes.flatMap(({ history, outcome }) => findingsOf(history, outcome)),
      neverHit: kinds.filter((kind) => !hit.has(kind)),
      byKind: kinds.flatMap((kind) => {
        const of = counted.filter(({ outcome }) =>
          outcome.fault.kinds.some((each) => nameOf(each) === kind),
        );
        if (of.length === 0) return [];
        return [
          { kind, faults: of.length, ...percentiles(of.map(({ outcome }) => timeOf(outcome))) },
        ];
      }),
    };
  }

  /** A line for each kind, what was found, and the percentiles of all. */
  print(): void {
    const { byKind, rightAgainMs, findings, neverHit, ...rest } = this.summary;
    const table = createTextTable();
    for (const { kind, faults, p50, p90, p99, max } of byKind) {
      for (const [column, value] of Object.entries({ faults, p50, p90, p99, max })) {
        table.set(kind, column, String(value));
      }
    }
    table.print('faults, and milliseconds until the view was right again');
    const lines = findings.map(({ check, fault, what }) => `${check}: ${fault}: ${what}`);
    lines.push(...neverHit.map((kind) => `never hit anything: ${kind}`));
    lines.push(`right again, ms: ${JSON.stringify(rightAgainMs)}`);
    lines.push(`bounds, ms: ${JSON.stringify(BOUNDS.rightAgainMs)}`);
    lines.push(
      Object.entries(rest)
        .map(([name, value]) => `${name}: ${value}`)
        .join(', '),
    );
    process.stderr.write(`${lines.join('\n')}\n\n`);
  }
}

export function nameOf({ room, name }: { readonly room: Room; readonly name: string }): string {
  return `${room}: ${name}`;
}

/** One that never became right counts as the longest that was waited. */
function timeOf({ rightAgainMs }: FaultOutcome): number {
  return rightAgainMs ?? 150_000;
}

export function percentiles(times: readonly number[]): Percentiles {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: sorted.at(-1) ?? 0 };
}

function findingsOf(history: number, { fault, problems }: FaultOutcome): Finding[] {
  const name = fault.kinds.map(nameOf).join(' + ');
  const where = `history ${history}, fault ${fault.number}, ${name}, ${fault.seconds.toFixed(1)} s`;
  // One broken view is received many times.
  return [...new Set(problems)].slice(0, 5).map((problem) => {
    const [check = ''] = problem.split(/[:]| in \d/, 1);
    return { check, fault: where, what: problem };
  });
}
