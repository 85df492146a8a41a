/**
 * Lines of a Markdown table, padded so that it reads well in a terminal too.
 *
 * @param rows the first is the header; shorter rows are filled up
 * @param left how many columns, from the first on, are aligned to the left
 */
export function formatRows(rows: readonly (readonly string[])[], left: number): string {
  const [header = []] = rows;
  const widths = header.map((_, column) =>
    Math.max(3, ...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  const rule = widths.map((size, column) =>
    column < left ? '-'.repeat(size) : `${'-'.repeat(size - 1)}:`,
  );
  const lines = rows.map((cells) => {
    const padded = widths.map((size, column) => {
      const text = cells[column] ?? '';
      return column < left ? text.padEnd(size) : text.padStart(size);
    });
    return `| ${padded.join(' | ')} |`;
  });
  return [lines[0], `| ${rule.join(' | ')} |`, ...lines.slice(1)].join('\n');
}

/** Three significant digits, and never an exponent. */
export function figure(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 || value === 0 ? 0 : size >= 10 ? 1 : 2);
}
