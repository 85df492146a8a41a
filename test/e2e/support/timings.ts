import { createTextTable } from './text-table.ts';

/** Collects how long changes took, for a table at the end of a suite. */
export interface Timings {
  /** Of several times of one change the longest counts. */
  add(change: string, column: string, elapsedMs: number): void;
  /** A line for each change, a column for each column, in milliseconds. */
  print(title: string): void;
}

export function createTimings(): Timings {
  const table = createTextTable();
  return {
    add: (change, column, elapsedMs) => {
      const before = Number(table.get(change, column) ?? 0);
      table.set(change, column, String(Math.max(elapsedMs, before)));
    },
    print: (title) => table.print(title),
  };
}
