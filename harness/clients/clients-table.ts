import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CLIENTS, MOMENTS, type Moment } from './clients.ts';
import type { MeasuredClient } from './measure-clients.ts';

/** The page whose table the suite writes. */
export const PAGE = resolve(import.meta.dirname, '../../docs/clients.md');
const BEGIN = '<!-- results: written by KPW_WRITE=1 npm test clients -->';
const END = '<!-- end of results -->';

/** The time of the start is that of the machine: all programs start together. */
const SHOWN = MOMENTS.filter((moment) => moment !== 'start');

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
  const heads = ['client', 'version', ...SHOWN];
  const rows = CLIENTS.map((client) => {
    const listeners = measured.filter((each) => each.client === client);
    const cells = SHOWN.map((moment) => listeners.map((each) => cellOf(each, moment)).join('/'));
    return [client.name, client.version, ...cells];
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

/** Seconds until a client had the change after a moment. */
function cellOf({ ms, ended }: MeasuredClient, moment: Moment): string {
  const time = ms[moment];
  if (time !== undefined) return (time / 1000).toFixed(1);
  return ended === undefined ? '-' : 'ended';
}

/** The clients that the page's table names, with their versions. */
export function clientsOfPage(): string[] {
  const rows = readFileSync(PAGE, 'utf8').split('\n');
  return CLIENTS.map(({ name, version }) => `${name} ${version}`).filter((client) =>
    rows.some((row) => {
      const [, listed = '', version = ''] = row.split('|').map((cell) => cell.trim());
      return client === `${listed} ${version}`;
    }),
  );
}
