/** A table that is filled by its cells and printed at the end of a suite. */
export function createTextTable() {
  const rows = new Map<string, Map<string, string>>();
  const columns = new Map<string, number>();
  return {
    /** Sets a cell; rows and columns come in the order in which they are first named. */
    set: (row: string, column: string, text: string) => {
      rows.set(row, (rows.get(row) ?? new Map<string, string>()).set(column, text));
      columns.set(column, Math.max(columns.get(column) ?? column.length, text.length));
    },
    get: (row: string, column: string) => rows.get(row)?.get(column),
    /** A line for each row, to stderr. */
    print: (title: string) => {
      const head = Math.max(title.length, ...Array.from(rows.keys(), (row) => row.length));
      const line = (first: string, text: (column: string) => string) => {
        const cells = Array.from(columns, ([column, width]) => text(column).padStart(width));
        return [first.padEnd(head), ...cells].join('  ');
      };
      const lines = Array.from(rows, ([row, cells]) =>
        line(row, (column) => cells.get(column) ?? ''),
      );
      // Not console.log: jest would put a stack trace to it.
      process.stderr.write(`\n${[line(title, (column) => column), ...lines].join('\n')}\n\n`);
    },
  };
}
