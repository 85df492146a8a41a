/**
 * Lines of a Markdown table, padded so that it reads well in a terminal too.
 *
 * @param rows the first is the header
 * @param texts columns, from the left, that are no numbers
 */
export function formatTextTable(rows: readonly (readonly string[])[], texts: number): string {
  const columns = rows[0]?.map((_, column) => column) ?? [];
  const widths = columns.map((column) =>
    Math.max(3, ...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) => {
    const padded = widths.map((size, column) => {
      const text = cells[column] ?? '';
      return column < texts ? text.padEnd(size) : text.padStart(size);
    });
    return `| ${padded.join(' | ')} |`;
  };
  const rule = widths.map((size, column) =>
    column < texts ? '-'.repeat(size) : `${'-'.repeat(size - 1)}:`,
  );
  const [header = [], ...others] = rows;
  return [line(header), line(rule), ...others.map(line)].join('\n');
}
