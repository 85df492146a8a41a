import { createTextTable } from '../../../../harness/history/text-table.ts';
import { BOUNDS, type Problem } from '../bounds.ts';
import type { FaultKind, Room } from '../fault-kind.ts';
import type { FaultOutcome } from './history-run.ts';

/** A bound that was broken, with the fault in which it was. */
export interface Finding extends Problem {
  readonly fault: string;
}

export interface RecoverySummary {
  readonly seed: number;
  readonly faults: number;
  readonly kinds: number;
  /** Faults that hit nothing. They do not count. */
  readonly harmless: number;
  readonly rightAgainMs: Percentiles;
  readonly findings: readonly Finding[];
  /** Kinds that were tried more than once and have never harmed anything. */
  readonly neverHit: readonly string[];
  /** Kinds of HTTP/2, if the wrapper does not speak it. */
  readonly leftOut: readonly string[];
  /** Histories that ended before their plan did, and why. */
  readonly brokenOff: readonly string[];
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
  readonly #leftOut = new Set<string>();
  readonly #brokenOff: string[] = [];
  readonly #outcomes: { readonly history: number; readonly outcome: FaultOutcome }[] = [];

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** A fault of HTTP/2, which the wrapper did not speak. */
  leaveOut(kind: FaultKind): void {
    this.#leftOut.add(nameOf(kind));
  }

  /** A fault could not be injected or judged, and the history ended there. */
  breakOff(history: number, fault: string, error: unknown): void {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#brokenOff.push(`history ${history}, ${fault}: ${why}`);
  }

  add(history: number, outcome: FaultOutcome): void {
    this.#outcomes.push({ history, outcome });
  }

  get summary(): RecoverySummary {
    const counted = this.#outcomes.filter(({ outcome }) => outcome.hits > 0);
    const times = counted.map(({ outcome }) => timeOf(outcome));
    const hit = new Set(counted.flatMap(({ outcome }) => outcome.fault.kinds.map(nameOf)));
    const all = this.#outcomes.flatMap(({ outcome }) => outcome.fault.kinds.map(nameOf));
    const kinds = [...new Set(all)].sort();
    const tries = (kind: string) => all.filter((each) => each === kind).length;
    return {
      seed: this.#seed,
      faults: counted.length,
      kinds: hit.size,
      harmless: this.#outcomes.length - counted.length,
      rightAgainMs: percentiles(times),
      findings: this.#outcomes.flatMap(({ history, outcome }) => findingsOf(history, outcome)),
      neverHit: kinds.filter((kind) => !hit.has(kind) && tries(kind) > 1),
      leftOut: [...this.#leftOut],
      brokenOff: [...this.#brokenOff],
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
    const { byKind, rightAgainMs, findings, neverHit, leftOut, brokenOff, ...rest } = this.summary;
    const table = createTextTable();
    for (const { kind, faults, p50, p90, p99, max } of byKind) {
      for (const [column, value] of Object.entries({ faults, p50, p90, p99, max })) {
        table.set(kind, column, String(value));
      }
    }
    table.print('faults, and milliseconds until the view was right again');
    const lines = findings.map(({ check, fault, what }) => `${check}: ${fault}: ${what}`);
    lines.push(...neverHit.map((kind) => `never hit anything: ${kind}`));
    lines.push(...brokenOff.map((why) => `broke off: ${why}`));
    if (leftOut.length > 0) lines.push(`left out, no HTTP/2: ${leftOut.join(', ')}`);
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
  const distinct = new Map(problems.map((problem) => [JSON.stringify(problem), problem]));
  return [...distinct.values()].slice(0, 6).map((problem) => ({ ...problem, fault: where }));
}
