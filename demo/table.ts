import { formatColumns } from '../cli/output/format-output.ts';
import { formatNumber } from '../src/text/numbers.ts';
import { printLine } from '../src/text/untrusted-text.ts';
import type { ChangedService, Mark, Row } from './changes.ts';

/** Limits of one table, so that it fits on a screen. A bigger cluster is read with `show SERVICE`. */
const MAX_SERVICES = 10;
const MAX_ROWS = 24;
/** Rows of one Service. */
const MAX_ROWS_OF_SERVICE = 12;

const HEADER = [' ', 'SHOWN', 'ENDPOINT', 'NODE', 'WHY'];

/** What the signs in front of a changed row mean. */
export const LEGEND =
  '    + is shown from now on, - is not shown any more, ~ has another state or reason';

type MarkedRow = Row & { readonly mark?: Mark };

/** Formats a table of Services. If there are too many, those from which something is left out come first. */
export function formatServices(rows: readonly Row[]): string {
  const services = [...Map.groupBy(rows, ({ service }) => service).values()];
  const chosen = firstThatFit(services, (each) => each.some(({ shown }) => !shown));
  const more = services.length - chosen.length;
  const rest =
    more > 0 ? `  and ${formatNumber(more)} more Services; show SERVICE prints one\n` : '';
  return `${table(chosen)}${rest}`;
}

/** Formats the Services that have changed. If there are too many, those of which more or less is shown come first. */
export function formatChanges(changed: readonly ChangedService[]): string {
  const services = changed.map(({ rows }) => rows);
  const chosen = firstThatFit(services, (each) => each.some(({ mark }) => isDifference(mark)));
  const more = services.length - chosen.length;
  const rest = more > 0 ? `  and ${formatNumber(more)} more Services have changed\n` : '';
  return `${table(chosen)}${rest}`;
}

/** As many Services as fit into one table, at least one. If not all fit, the preferred ones come first. */
function firstThatFit<T extends Row>(
  services: readonly (readonly T[])[],
  isPreferred: (rows: readonly T[]) => boolean,
): (readonly T[])[] {
  const firstRows = (from: readonly (readonly T[])[]): (readonly T[])[] => {
    let room = MAX_ROWS;
    return from.slice(0, MAX_SERVICES).filter((rows, index) => {
      room -= Math.min(rows.length, MAX_ROWS_OF_SERVICE);
      return room >= 0 || index === 0;
    });
  };
  const all = firstRows(services);
  if (all.length === services.length) return all;
  const preference = (rows: readonly T[]) => Number(isPreferred(rows));
  return firstRows(services.toSorted((a, b) => preference(b) - preference(a)));
}

function isDifference(mark: Mark): boolean {
  return mark === '+' || mark === '-';
}

/** `9 of 13 endpoints are shown` */
export function formatCount(rows: readonly Row[]): string {
  const shown = rows.filter((row) => row.shown).length;
  return `${formatNumber(shown)} of ${formatNumber(rows.length)} endpoints are shown`;
}

/** `2 more and 1 fewer than before, with changes in 2 of 5 Services` */
export function formatDifference(changed: readonly ChangedService[], services: number): string {
  const marks = changed.flatMap(({ rows }) => rows.map(({ mark }) => mark));
  const count = (mark: Mark, text: string) => {
    const found = marks.filter((each) => each === mark).length;
    return found === 0 ? [] : [`${formatNumber(found)} ${text}`];
  };
  const parts = [...count('+', 'more'), ...count('-', 'fewer')];
  const where = `in ${formatNumber(changed.length)} of ${formatNumber(services)} Services`;
  if (parts.length === 0) return `the same ones as before, with changes ${where}`;
  return `${parts.join(' and ')} than before, with changes ${where}`;
}

/** The endpoints of each Service below its name and keys: a table that fits into 80 to 100 columns. */
function table(services: readonly (readonly MarkedRow[])[]): string {
  const groups = services.map(linesOf);
  const lines = formatColumns([HEADER, ...groups.flat()], '  ').split(/(?<=\n)/);
  const [header = '', ...rest] = lines;
  const parts = services.map(([first], index) => {
    const title = printLine(`  ${first?.service}: ${first?.keys}`);
    return title + rest.splice(0, groups[index]?.length ?? 0).join('');
  });
  return header + parts.join('');
}

/** The lines of one Service. Of many rows, the changed ones come first. */
function linesOf(rows: readonly MarkedRow[]): string[][] {
  const chosen =
    rows.length <= MAX_ROWS_OF_SERVICE
      ? rows
      : rows.toSorted((a, b) => Number((b.mark ?? '') !== '') - Number((a.mark ?? '') !== ''));
  const lines = chosen
    .slice(0, MAX_ROWS_OF_SERVICE)
    .map((row) => [row.mark ?? '', shownCell(row), addressCell(row), row.node, row.why]);
  const more = rows.length - MAX_ROWS_OF_SERVICE;
  return more > 0 ? [...lines, ['', '', `and ${formatNumber(more)} more`]] : lines;
}

function addressCell({ address, state }: Row): string {
  return state === '' ? address : `${address} (${state})`;
}

function shownCell({ shown, mark }: MarkedRow): string {
  const now = mark !== undefined && isDifference(mark) ? 'now ' : '';
  return `${now}${shown ? 'yes' : 'no'}`;
}
