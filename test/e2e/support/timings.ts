import { createTextTable } from './text-table.ts';

/** Collects how long changes took, for a table at the end of a suite. */
export function createTimings() {
  const table = createTextTable();
  return {
    /** Of several times of one change the longest counts. */
    add: (change: string, column: string, elapsedMs: number) => {
      const before = Number(table.get(change, column) ?? 0);
      table.set(change, column, String(Math.max(elapsedMs, before)));
    },
    /** A line for each change, a column for each column, in milliseconds. */
    print: (title: string) => table.print(title),
  };
}
