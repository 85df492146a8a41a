import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CLIENTS, type ClientLibrary, type Moment } from './clients.ts';
import type { MeasuredClient } from './measure-clients.ts';

/** The page whose table the suite writes. */
export const PAGE = resolve(import.meta.dirname, '../../docs/clients.md');
const BEGIN = '<!-- results: written by KPW_WRITE=1 npm test clients -->';
const END = '<!-- end of results -->';

/** The columns, and the moments whose longest time each shows. How long a start takes depends on the machine. */
const COLUMNS: Readonly<Record<string, readonly Moment[]>> = {
  change: ['change', 'silence'],
  relabel: ['relabel'],
  planned: ['planned'],
  killed: ['killed'],
};

/** Replaces the table of the page. */
export function writeClientsTable(measured: readonly MeasuredClient[]): void {
  const page = readFileSync(PAGE, 'utf8');
  const [before, rest] = split(page, BEGIN);
  const [, after] = split(rest, END);
  writeFileSync(PAGE, `${before}${BEGIN}\n\n${tableOf(measured)}\n\n${END}${after}`);
}

function split(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  if (at < 0) throw new Error(`${PAGE} lacks ${mark}`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}

/** One row for each client: seconds until it had the change after each moment, for each listener. */
export function tableOf(measured: readonly MeasuredClient[]): string {
  const heads = ['client', ...Object.keys(COLUMNS)];
  const rows = CLIENTS.map((client) => {
    const listeners = measured.filter((each) => each.client === client);
    const cells = Object.values(COLUMNS).map((moments) =>
      listeners.map((each) => cellOf(each, moments)).join('/'),
    );
    return [titleOf(client), ...cells];
  });
  const widths = heads.map((head, column) =>
    Math.max(...[heads, ...rows].map((row) => row[column]?.length ?? 0), head.length),
  );
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(heads), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join(
    '\n',
  );
}

/** Seconds until a client had the change: the longest after one of the moments. */
function cellOf({ ms, ended }: MeasuredClient, moments: readonly Moment[]): string {
  const times = moments.flatMap((moment) => ms[moment] ?? []);
  if (times.length === moments.length) return (Math.max(...times) / 1000).toFixed(1);
  return ended === undefined ? '-' : 'ended';
}

/** The name of a client in the table. */
export function titleOf({ name, version }: ClientLibrary): string {
  return `${name} ${version}`;
}

/** The clients that the page's table names, with their versions. */
export function clientsOfPage(): string[] {
  const names = readFileSync(PAGE, 'utf8')
    .split('\n')
    .map((line) => line.split('|')[1]?.trim());
  return CLIENTS.map(titleOf).filter((title) => names.includes(title));
}
