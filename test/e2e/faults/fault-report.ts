import { createTextTable } from '../support/text-table.ts';

/** Counts the faults of a run, for a table at its end. */
export interface FaultReport {
  /** Faults that did harm and were survived. */
  readonly survived: number;
  /** @param rightAgainMs from the end of the fault until all informers were right */
  add(kind: string, harmed: number, rightAgainMs: number): void;
  print(summary: Readonly<Record<string, unknown>>): void;
}

export function createFaultReport(): FaultReport {
  const table = createTextTable();
  let survived = 0;
  let longestMs = 0;
  const raise = (kind: string, column: string, by: number) =>
    table.set(kind, column, String(Number(table.get(kind, column) ?? 0) + by));
  return {
    get survived() {
      return survived;
    },
    add: (kind, harmed, rightAgainMs) => {
      if (harmed === 0) return raise(kind, 'hit nothing', 1);
      survived += 1;
      longestMs = Math.max(longestMs, rightAgainMs);
      raise(kind, 'survived', 1);
      raise(kind, 'harmed', harmed);
      const slowest = Math.max(rightAgainMs, Number(table.get(kind, 'longest, ms') ?? 0));
      table.set(kind, 'longest, ms', String(slowest));
    },
    print: (summary) => {
      table.print('faults, and the longest time until all informers were right again');
      const all = { 'faults survived': survived, 'longest, ms': longestMs, ...summary };
      const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
      process.stderr.write(`${lines.join('\n')}\n\n`);
    },
  };
}
