import { dump } from 'js-yaml';

/** Lays lines of cells out in columns, the first line being the header. */
export function formatColumns(lines: readonly (readonly string[])[], indent = ''): string {
  const widths: number[] = [];
  for (const line of lines) {
    for (const [column, cell] of line.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    }
  }
  return lines
    .map((line) => {
      const cells = line.map((cell, column) => cell.padEnd(widths[column] ?? 0));
      return `${indent}${cells.join('  ').trimEnd()}\n`;
    })
    .join('');
}

/** A value for machines. */
export function formatData(value: unknown, format: 'json' | 'yaml'): string {
  return format === 'json'
    ? `${JSON.stringify(value, null, 2)}\n`
    : dump(value, { lineWidth: 100 });
}
