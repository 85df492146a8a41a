import { KUBERNETES } from '../../harness/process/binaries.ts';
import { describeRun, type Run } from '../machine.ts';
import type { ClusterShape } from '../options.ts';
import { figure, formatRows } from '../table.ts';
import type { GainCase } from './measure.ts';

/** All that a run has found. */
export interface GainResults extends Run {
  /** The programs that kube-proxy writes its tables with, and their versions. */
  readonly tools: readonly string[];
  readonly cluster: ClusterShape;
  /** Slices that were to change in a second. */
  readonly rate: number;
  readonly cases: readonly GainCase[];
}

/** A row of the table: its value for a case; undefined: none. */
interface Row {
  readonly what: string;
  readonly unit: string;
  value(which: GainCase): number | undefined;
}

const ROWS: readonly Row[] = [
  { what: 'Services in the kernel', unit: '', value: ({ table }) => table.services },
  { what: 'their endpoints', unit: '', value: ({ table }) => table.endpoints },
  { what: 'chains', unit: '', value: ({ table }) => table.chains },
  { what: 'rules', unit: '', value: ({ table }) => table.rules },
  {
    what: 'elements of sets and maps',
    unit: '',
    value: ({ mode, table }) => (mode === 'nftables' ? table.elements : undefined),
  },
  { what: 'dump of the tables', unit: 'MB', value: ({ table }) => table.bytes / 1e6 },
  {
    what: 'kube-proxy start to its first sync',
    unit: 's',
    value: ({ firstSyncSeconds }) => firstSyncSeconds,
  },
  { what: 'slices that changed elsewhere', unit: '', value: ({ window }) => window.changes },
  { what: 'time that this took', unit: 's', value: ({ window }) => window.seconds },
  {
    what: 'slice events at kube-proxy',
    unit: '',
    value: ({ window }) => window.counters.sliceEvents,
  },
  { what: 'sync rounds, partial', unit: '', value: ({ window }) => window.counters.partial },
  { what: 'sync rounds, full', unit: '', value: ({ window }) => window.counters.full },
  { what: 'a round takes, mean', unit: 's', value: ({ window }) => meanRound(window.counters) },
  { what: 'CPU of kube-proxy', unit: 's', value: ({ window }) => window.cpu.kubeProxy },
  { what: 'CPU of the wrapper', unit: 's', value: ({ window }) => window.cpu.wrapper },
  { what: 'memory of kube-proxy', unit: 'MB', value: ({ memory }) => memory.kubeProxy },
  { what: 'memory of the wrapper', unit: 'MB', value: ({ memory }) => memory.wrapper },
];

/** Lines of a Markdown table with a column for each case. */
export function formatGainTable(cases: readonly GainCase[]): string {
  const header = ['', 'unit', ...cases.map(({ mode, target }) => `${mode} ${target}`)];
  const rows = ROWS.filter(({ value }) => cases.some((which) => value(which) !== undefined));
  const lines = rows.map((row) => [row.what, row.unit, ...cases.map((which) => cell(row, which))]);
  return formatRows([header, ...lines], 2);
}

/** One paragraph about where, when and with what. */
export function formatGainContext(results: GainResults): string {
  const { machine, tools, cluster, rate, seconds } = results;
  const { services, endpoints, nodes, sites } = cluster;
  const described = `${services} Services of one slice with ${endpoints} endpoints, ${nodes} nodes in ${sites} sites`;
  const churn = `${rate} slices change a second, or fewer if the machine is too slow`;
  return [
    describeRun(machine, seconds, `${described}; ${churn}; all`),
    `kube-proxy ${KUBERNETES}, ${tools.join(', ')}.`,
  ].join('\n');
}

function meanRound({ full, partial, seconds }: GainCase['window']['counters']): number | undefined {
  return full + partial === 0 ? undefined : seconds / (full + partial);
}

function cell(row: Row, which: GainCase): string {
  const value = row.value(which);
  if (value === undefined) return '';
  return Number.isInteger(value) ? String(value) : figure(value);
}
