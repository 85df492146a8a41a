import { dump } from 'js-yaml';
import { escapeJson, escapeUntrusted, isUnsafe, printLine } from '../untrusted-text.ts';

/** UTF-16 code units of one cell, at most. */
const MAX_CELL = 1_000;

/** Lays lines of cells out in columns, the first line being the header. */
export function formatColumns(cells: readonly (readonly string[])[], indent = ''): string {
  // Before they are measured.
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

/** A value for machines; what is escaped in a text is escaped as that format has it, so that nothing is lost. */
export function formatData(value: unknown, format: 'json' | 'yaml'): string {
  const json = JSON.stringify(value, null, 2);
  // YAML cannot escape in a plain scalar; JSON is YAML, too.
  if (format === 'json' || isUnsafe(json)) return `${escapeJson(json)}\n`;
  return dump(value, { lineWidth: 100 });
}
