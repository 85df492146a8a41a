import { BOUNDS, GIVE_UP_MS, type Problem } from './bounds.ts';
import { nameOf } from './fault-kind.ts';
import type { PlannedFault } from './fault-plan.ts';

/** What became of one fault. */
export interface FaultOutcome {
  readonly fault: PlannedFault<never>;
  readonly hits: number;
  /** From the moment when the API server answered again; undefined: not within {@link GIVE_UP_MS}. */
  readonly rightAgainMs: number | undefined;
  readonly problems: readonly Problem[];
}

/** A bound that was broken, with the fault in which it was. */
export interface Finding extends Problem {
  readonly fault: string;
}

export interface FaultSummary {
  readonly seed: number;
  readonly faults: number;
  readonly kinds: number;
  /** Faults that hit nothing. They do not count. */
  readonly harmless: number;
  readonly rightAgainMs: Percentiles;
  readonly findings: readonly Finding[];
  /** Kinds that were tried more than once and have never harmed anything. */
  readonly neverHit: readonly string[];
  /** Histories that ended before their plan did, and why. */
  readonly brokenOff: readonly string[];
  readonly byKind: Readonly<Record<string, Percentiles>>;
}

export interface Percentiles {
  readonly faults: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** Collects what became of the faults of all histories. */
export class FaultReport {
  readonly #seed: number;
  readonly #log: (line: string) => void;
  readonly #brokenOff: string[] = [];
  readonly #outcomes: { readonly where: string; readonly outcome: FaultOutcome }[] = [];

  /** @param log gets a line for each fault */
  constructor(seed: number, log: (line: string) => void = () => {}) {
    this.#seed = seed;
    this.#log = log;
  }

  /** A fault could not be injected or judged, and the history ended there. */
  breakOff(history: number, fault: string, error: unknown): void {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#brokenOff.push(`history ${history}, ${fault}: ${why}`);
  }

  add(history: number, outcome: FaultOutcome): void {
    const { fault, hits, rightAgainMs, problems } = outcome;
    const name = namesOf(outcome).join(' + ');
    const where = `history ${history}, fault ${fault.number}, ${name}, ${fault.seconds.toFixed(1)} s`;
    this.#outcomes.push({ where, outcome });
    const found = problems.slice(0, 3).map(({ what }) => what);
    this.#log([`${where}: ${hits} hits, right after ${rightAgainMs} ms`, ...found].join('; '));
  }

  get summary(): FaultSummary {
    const all = this.#outcomes.map(({ outcome }) => outcome);
    const counted = all.filter(({ hits }) => hits > 0);
    const tries = Map.groupBy(all.flatMap(namesOf), (name) => name);
    const names = [...tries.keys()].sort();
    const byKind = names.map((name) => {
      const hit = counted.filter((outcome) => namesOf(outcome).includes(name));
      return [name, percentiles(hit.map(timeOf))] as const;
    });
    const hit = byKind.filter(([, { faults }]) => faults > 0);
    const never = byKind.filter(([name, { faults }]) => faults === 0 && !isOnce(tries.get(name)));
    return {
      seed: this.#seed,
      faults: counted.length,
      kinds: hit.length,
      harmless: all.length - counted.length,
      rightAgainMs: percentiles(counted.map(timeOf)),
      findings: this.#outcomes.flatMap(findingsOf),
      neverHit: never.map(([name]) => name),
      brokenOff: [...this.#brokenOff],
      byKind: Object.fromEntries(hit),
    };
  }

  /** A line for each kind, what was found, and the percentiles of all. */
  print(): void {
    const { byKind, rightAgainMs, findings, neverHit, brokenOff, ...rest } = this.summary;
    const kinds = Object.entries(byKind);
    const width = Math.max(0, ...kinds.map(([kind]) => kind.length));
    // Not console.log: jest would put a stack trace to it.
    const lines = [
      'faults, and milliseconds until all was right again',
      ...kinds.map(([kind, figures]) => `${kind.padEnd(width)} ${JSON.stringify(figures)}`),
      ...findings.map(({ check, fault, what }) => `${check}: ${fault}: ${what}`),
      ...neverHit.map((kind) => `never hit anything: ${kind}`),
      ...brokenOff.map((why) => `broke off: ${why}`),
      `right again, ms: ${JSON.stringify(rightAgainMs)}`,
      `bounds, ms: ${JSON.stringify(BOUNDS.rightAgainMs)}`,
      JSON.stringify(rest),
    ];
    process.stderr.write(`${lines.join('\n')}\n\n`);
  }
}

function namesOf({ fault }: FaultOutcome): string[] {
  return fault.kinds.map(nameOf);
}

function isOnce(tries: readonly string[] | undefined): boolean {
  return tries?.length === 1;
}

/** One that never became right counts as the longest that was waited. */
function timeOf({ rightAgainMs }: FaultOutcome): number {
  return rightAgainMs ?? GIVE_UP_MS;
}

function percentiles(times: readonly number[]): Percentiles {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  const max = sorted.at(-1) ?? 0;
  return { faults: times.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max };
}

function findingsOf(entry: { readonly where: string; readonly outcome: FaultOutcome }): Finding[] {
  // One broken view is received many times.
  const all = entry.outcome.problems.map((each) => [JSON.stringify(each), each] as const);
  const distinct = [...new Map(all).values()];
  return distinct.slice(0, 6).map((problem) => ({ ...problem, fault: entry.where }));
}
