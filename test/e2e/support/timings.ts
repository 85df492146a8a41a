/** Collects how long changes took, for a table at the end of a suite. */
export interface Timings {
  /** Of several times of one change the longest counts. */
  add(change: string, column: string, elapsedMs: number): void;
  /** A line for each change, a column for each column, in milliseconds. */
  print(title: string): void;
}

export function createTimings(): Timings {
  const rows = new Map<string, Map<string, number>>();
  const columns = new Set<string>();
  return {
    add: (change, column, elapsedMs) => {
      columns.add(column);
      const times = rows.get(change) ?? new Map<string, number>();
      rows.set(change, times.set(column, Math.max(elapsedMs, times.get(column) ?? 0)));
    },
    print: (title) => {
      const width = Math.max(0, ...Array.from(rows.keys(), (change) => change.length));
      const cell = (text: string, column: string) => text.padStart(Math.max(7, column.length));
      const line = (head: string, text: (column: string) => string) =>
        [head.padEnd(width), ...Array.from(columns, (column) => cell(text(column), column))].join(
          '  ',
        );
      const lines = Array.from(rows, ([change, times]) =>
        line(change, (column) => String(times.get(column) ?? '')),
      );
      const header = line(title, (column) => column);
      // Not console.log: jest would put a stack trace to it.
      process.stderr.write(`\n${[header, ...lines].join('\n')}\n\n`);
    },
  };
}
