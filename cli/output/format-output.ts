import { dump } from 'js-yaml';
import { escapeJson, escapeUntrusted, isUnsafe, printLine } from '../../src/text/untrusted-text.ts';

/** Maximum length of a cell in UTF-16 code units. */
const MAX_CELL = 1_000;

/** Formats lines of cells as columns. The first line is the header. */
export function formatColumns(cells: readonly (readonly string[])[], indent = ''): string {
  // Escaped first, because that changes the width.
  const lines = cells.map((line) => line.map((cell) => escapeUntrusted(cell, MAX_CELL)));
  const widths: number[] = [];
  for (const line of lines) {
    for (const [column, cell] of line.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    }
  }
  return lines
    .map((line) => {
      const padded = line.map((cell, column) => cell.padEnd(widths[column] ?? 0));
      return printLine(`${indent}${padded.join('  ').trimEnd()}`);
    })
    .join('');
}

/** Formats a value for programs. Unsafe characters are escaped by the rules of the format, so nothing is lost. */
export function formatData(value: unknown, format: 'json' | 'yaml'): string {
  const json = JSON.stringify(value, null, 2);
  // A plain scalar of YAML has no escapes, but JSON is valid YAML.
  if (format === 'json' || isUnsafe(json)) return `${escapeJson(json)}\n`;
  return dump(value, { lineWidth: 100 });
}
