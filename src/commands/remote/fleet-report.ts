import { shortKey } from '../../topology/explain/short-key.ts';
import { printLine } from '../../untrusted-text.ts';
import { plural } from '../format-output.ts';
import { formatTable, type Report, type TextStyle } from '../output/report.ts';
import type { ServiceName } from '../service-argument.ts';
import { some } from '../simulate/findings.ts';
import type { Sight } from './fleet-expected.ts';

/** A Service on a node. */
export interface ComparedService {
  readonly service: string;
  /** Absent: the node does not know the Service. */
  readonly sees?: Sight;
  /** Absent: the node or the Service does not exist at the API server. */
  readonly expected?: Sight;
}

/** What a node sees, beside what is expected of it. */
export interface NodeComparison {
  readonly node: string;
  readonly version?: string;
  /** Why its data is old. */
  readonly warning?: string;
  readonly rows: readonly ComparedService[];
  readonly differences: readonly ComparedService[];
  /** Why its wrapper did not answer. */
  readonly error?: string;
}

export interface FleetComparison {
  readonly nodes: readonly NodeComparison[];
  /** Nodes without a wrapper. */
  readonly without: readonly string[];
  readonly service: ServiceName | undefined;
}

/** Differences first, then the nodes. */
export function fleetReport({ nodes, without, service }: FleetComparison): Report {
  const sorted = nodes.toSorted((a, b) => rankOf(a) - rankOf(b));
  return {
    data: { nodes: sorted.map(dataOf), without },
    text: (style) => formatFleet(sorted, without, service !== undefined, style),
  };
}

/** Nodes that did not answer come first, then those with differences, and old data before current data. */
function rankOf({ error, differences, warning }: NodeComparison): number {
  if (error !== undefined) return 0;
  if (differences.length > 0) return 1;
  return warning === undefined ? 3 : 2;
}

function dataOf({ rows, ...node }: NodeComparison) {
  return { ...node, services: rows.length };
}

function formatFleet(
  nodes: readonly NodeComparison[],
  without: readonly string[],
  isOne: boolean,
  style: TextStyle,
): string {
  const problems = nodes.flatMap(({ node, error, warning }) => {
    const problem = error === undefined ? warning : `no answer: ${error}`;
    return problem === undefined ? [] : [printLine(`! ${node}: ${problem}`)];
  });
  const rows = nodes.flatMap(({ node, differences, rows: all }) =>
    (isOne || style.wide ? all : differences).map((row) => ({
      node,
      row,
      isNew: differences.includes(row),
    })),
  );
  const lines = rows
    .toSorted((a, b) => Number(b.isNew) - Number(a.isNew))
    .map(({ node, row, isNew }) => [
      isNew ? '!' : '',
      node,
      row.service,
      sightText(row.sees, style),
      sightText(row.expected, style),
    ]);
  const table = formatTable([['', 'NODE', 'SERVICE', 'SEES', 'EXPECTED'], ...lines], style);
  const absent =
    without.length === 0
      ? ''
      : printLine(`i no wrapper on ${plural(without.length, 'node')}: ${some(without)}`);
  const parts = [
    problems.join(''),
    lines.length === 0 ? '' : table,
    `${absent}${printLine(verdictOf(nodes))}`,
  ];
  return parts.filter((part) => part !== '').join('\n');
}

function verdictOf(nodes: readonly NodeComparison[]): string {
  const answered = nodes.filter(({ error }) => error === undefined);
  const fine = answered.filter(({ differences }) => differences.length === 0).length;
  const services = Math.max(0, ...answered.map(({ rows }) => rows.length));
  return `${fine} of ${plural(nodes.length, 'node')} see what is expected of ${plural(services, 'Service')}`;
}

/** `1/3 site`, and the addresses if they are known. */
function sightText(sight: Sight | undefined, { wide }: TextStyle): string {
  if (sight === undefined) return 'absent';
  const { outcome, winners, shown, total, addresses } = sight;
  if (outcome === 'hidden' || outcome === 'withheld') return outcome;
  const keys = winners.map(shortKey).join('+');
  const what = outcome === 'filtered' ? keys || 'NONE' : outcome;
  return `${shown}/${total} ${what}${wide && addresses ? ` (${some(addresses, 20)})` : ''}`;
}
