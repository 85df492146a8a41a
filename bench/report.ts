import type { Machine } from './machine.ts';
import { type Measure, ratioOf, type Summary } from './measure.ts';
import type { BenchOptions } from './options.ts';

/** All that a run has found. */
export interface Results {
  readonly machine: Machine;
  readonly world: BenchOptions['world'];
  readonly rounds: number;
  /** Seconds that the run took. */
  readonly seconds: number;
  readonly measures: readonly Measure[];
}

const HEADER = ['', 'unit', 'direct p50', 'p90', 'p99', 'wrapper p50', 'p90', 'p99', 'ratio', 'n'];

/** Lines of a Markdown table, padded so that it reads well in a terminal too. */
export function formatTable(measures: readonly Measure[]): string {
  const rows = [HEADER, ...measures.map(row)];
  const widths = HEADER.map((_, column) => Math.max(...rows.map((cells) => width(cells, column))));
  const lines = rows.map((cells) => line(cells, widths));
  const rule = widths.map((size, column) =>
    column < 2 ? '-'.repeat(size) : `${'-'.repeat(size - 1)}:`,
  );
  return [lines[0], `| ${rule.join(' | ')} |`, ...lines.slice(1)].join('\n');
}

/** One paragraph about where, when and with what. */
export function formatContext(results: Results): string {
  const { machine, world, rounds, seconds } = results;
  const cluster = `${world.services} Services of one slice with ${world.endpoints} endpoints, ${world.nodes} nodes in ${world.sites} sites`;
  return [
    `${machine.date}, commit ${machine.commit}: ${cluster}; ${rounds} rounds in ${Math.round(seconds)} s.`,
    `${machine.cores} cores (${machine.cpu}), ${machine.memoryGb} GB, Linux ${machine.kernel}, Node ${machine.node}, kube-apiserver ${machine.kubeApiserver};`,
    `load average before the run ${machine.loadBefore.toFixed(2)}.`,
  ].join('\n');
}

function row(measure: Measure): string[] {
  const { what, unit, direct, wrapper } = measure;
  const ratio = ratioOf(measure);
  return [
    what,
    unit,
    ...percentiles(direct),
    ...percentiles(wrapper),
    ratio === undefined ? '' : ratio.toFixed(3),
    String(wrapper.n),
  ];
}

function percentiles(summary: Summary | undefined): string[] {
  if (summary === undefined) return ['', '', ''];
  if (summary.n === 1) return [figure(summary.p50), '', ''];
  return [figure(summary.p50), figure(summary.p90), figure(summary.p99)];
}

/** Three significant digits, and never an exponent. */
function figure(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 || value === 0 ? 0 : size >= 10 ? 1 : 2);
}

function width(cells: readonly string[], column: number): number {
  return Math.max(3, cells[column]?.length ?? 0);
}

function line(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((text, column) => {
    const size = widths[column] ?? 0;
    return column < 2 ? text.padEnd(size) : text.padStart(size);
  });
  return `| ${padded.join(' | ')} |`;
}
