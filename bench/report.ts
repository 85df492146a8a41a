import type { Machine } from './machine.ts';
import { type Measure, ratioOf, type Summary } from './measure.ts';
import type { WorldShape } from './options.ts';
import { formatTextTable } from './text-table.ts';

/** All that a run has found. */
export interface Results {
  readonly machine: Machine;
  readonly world: WorldShape;
  readonly rounds: number;
  /** Seconds that the run took. */
  readonly seconds: number;
  readonly measures: readonly Measure[];
}

const HEADER = ['', 'unit', 'direct p50', 'p90', 'p99', 'wrapper p50', 'p90', 'p99', 'ratio', 'n'];

/** Lines of a Markdown table, padded so that it reads well in a terminal too. */
export function formatTable(measures: readonly Measure[]): string {
  return formatTextTable([HEADER, ...measures.map(row)], 2);
}

/** One paragraph about where, when and with what. */
export function formatContext(results: Results): string {
  const { machine, world, rounds, seconds } = results;
  return [
    `${machine.date}, commit ${machine.commit}: ${formatWorld(world)}; ${rounds} rounds in ${Math.round(seconds)} s.`,
    formatMachine(machine),
  ].join('\n');
}

export function formatWorld(world: WorldShape): string {
  const { services, endpoints, nodes, sites } = world;
  return `${services} Services of one slice with ${endpoints} endpoints, ${nodes} nodes in ${sites} sites`;
}

/** What it ran on, and how busy that was. */
export function formatMachine(machine: Machine): string {
  return [
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
export function figure(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 || value === 0 ? 0 : size >= 10 ? 1 : 2);
}
