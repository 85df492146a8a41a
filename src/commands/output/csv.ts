import { escapeUntrusted } from '../../untrusted-text.ts';

/** A line of CSV (RFC 4180, but with a line feed). Unsafe characters are escaped. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(quote).join(',')}\n`;
}

function quote(text: string): string {
  const plain = escapeUntrusted(text, Number.POSITIVE_INFINITY);
  return /[",]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
